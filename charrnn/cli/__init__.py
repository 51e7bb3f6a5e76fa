"""The command line: all that knows a terminal, an option, a signal or an exit status.

    app          the commands by name         train sample eval info slim   a command
    options      options made of settings     run_training             a run from beginning to end
    usage        what was typed wrong           prepare                what comes before it
    hints        errors in words of options     resuming               what may be wanted of a file
    faults       errors to exit statuses        autosave metrics       what is written meanwhile
    exit_status  the statuses                   progress checkup_rows  what is seen meanwhile
    help         a page of help                 plan run_summary       what is shown before, after
    console      stdout and stderr            run_sampling             samples, drawn and shown
    table        entries, rows, columns         sample_output          how they get to stdout
    numbers      numbers in words             run_scoring              a text, scored and shown
    curve        the learning curve             score_summary          the sums
    signals      Ctrl-C, SIGTERM, SIGHUP        per_example            a row an example
    streams      the streams, repaired          per_character          a heat map, or a row each
    threads      BLAS has one, we have more   above                  what surprises too much
    ours         what may be replaced         standard_input         whether a text comes in there
    model_summary        what a file holds    surprisal_colours      heat, on a terminal
    wanted       which samples are wanted     copies                 which stand in the corpus
    completion   what Tab brings              did_you_mean           what was meant
    plan_display where the plan goes          run_json               a run for programs
    line_sink    a file or a pipe of lines    arriving_signals       before anybody hears them
    embed        one vector for a text        run_embedding          read and written
    fill         what is missing              run_filling            filled in, and shown
    reach        gradients back in time       run_reach reach_report walked, and shown
    output_file  a file beside stdout         texts_to_read          files, or what was held out
    held_file    the model file, ours alone   export run_export      a file for others

A command's own file is light, so that its help is there at once; numpy comes with the file that
does the work.
"""
