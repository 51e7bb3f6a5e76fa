"""The command line: all that knows a terminal, an option, a signal or an exit status.

    app              the commands by name     train sample eval fill embed reach info slim
                                              export sweep
    options          options made of settings completion            what Tab brings
    usage            what was typed wrong     did_you_mean          what was meant
    help             a page of help           exit_status           the statuses
    error_messages   errors, told             hints                 errors in words of options
    console          stdout and stderr        streams               the streams, repaired
    signals          Ctrl-C, SIGTERM, SIGHUP  arriving_signals      before anybody hears them
    table            entries, rows, columns   formatting            numbers in words
    curve            the learning curve       surprisal_colours     heat, on a terminal
    thread_count     BLAS has one, we more    output_file           a file beside stdout
    standard_input   does text come in there  texts_to_read         files, or what was held out
    shared_work      --workers, --scheduler   share_scoring         to workers, piece by piece
    score_parts      eval --part, --add       text_to_score         files, or a part of them
    prime            what samples go on from

    run_training     a run, start to end      run_sampling          samples, drawn and shown
      prepare_training what comes before it     choosing_samples    which of them are wanted
      resuming       what may be asked of it    sample_output       how they get to stdout
      plan           what is shown before it    copies              which stand in the corpus
      progress checkup_rows  meanwhile        run_scoring           a text, scored and shown
      autosave metrics line_sink  written       score_summary       the sums
      held_file      the model file, ours       per_example         a row an example
      mpi launcher   on several processes
      run_summary run_json   shown after it     per_character       a heat map, or a row each
    run_sweep        many runs, compared      tried                 the values of --try
      prepare_sweep sweep_options  before it    sweep_plan          what is shown before it
      sweep_progress   meanwhile                sweep_summary       and after it
    run_filling      what is missing, found     above               what surprises too much
    run_embedding    vectors, written         model_summary         what a file holds
    run_reach reach_report  gradients, walked back and shown
    run_export       a file for others        figure_file           what --plot draws

A command's own file is light, so that its help is there at once; numpy comes with the file that
does the work.
"""
