"""The command line: all that knows a terminal, an option, a signal or an exit status.

    app                  the commands by name, each with a light file of its own:
                         train sample eval fill embed reach info slim export sweep

  what is typed
    options completion   made of settings, and what Tab brings
    usage did_you_mean   what was typed wrong, and what was meant
    help                 a page of help
    thread_count         BLAS has one, we more
    standard_input texts_to_read   does text come in there; files, or what was held out
    shared_work          --workers, --scheduler

  what is told
    console streams      stdout and stderr, and the streams repaired
    table formatting     entries, rows, columns; numbers in words
    terminal_curve surprisal_colours   a learning curve, and heat, on a terminal
    error_messages hints exit_status   errors, in words of options, and the statuses
    signals early_signals   Ctrl-C, SIGTERM, SIGHUP; and before anybody hears them
    output_file figure_file   a file beside stdout; what --plot draws

  train
    run_train            a run, start to end
    prepare_training resuming plan_display   what comes before it, and is shown
    progress checkup_rows   what is shown meanwhile
    autosave metrics line_sink held_file   what is written meanwhile
    training_summary training_json   what is shown after it
    typed_again          what to type for its texts to go on with it, or with a sweep
    mpi launcher         on several processes

  sweep
    run_sweep            many runs, compared
    try_option sweep_options prepare_sweep sweep_plan   what comes before it
    sweep_progress sweep_summary   what is shown meanwhile, and after it

  sample
    run_sample           samples, drawn and shown
    prime                what they go on from
    choosing_samples     which of them are wanted
    sample_output        how they get to stdout
    copies_of_corpus     which of them stand in the corpus

  eval
    run_eval             a text, scored and shown
    text_to_score        which text: files, what was held out, a part of these
    score_summary        the sums
    beside_others        in the order of merit, beside what counts and packs; what is drawn
    loss_cells           the columns of a table of losses
    per_example per_character   a row each, or a heat map
    surprisal_alarm      what surprises too much
    score_parts          --part and --add
    share_scoring        to workers, piece by piece

  and the others
    run_fill             what is missing, found
    run_embed            vectors, written
    run_reach reach_report   gradients, walked back and shown
    run_export           a file for others
    model_summary        what a file holds

A command's own file is light, so that its help is there at once; numpy comes with the file that
does the work.
"""
