"""Every fault of this list, tried from outside, as a user would meet it: a child, or a terminal.

Varieties of a fault that is tried from outside are tried in one process, which is quicker.
The number of a fault stands in the names of its tests.

 1. A text that is empty, or holds next to nothing.
 2. A text that is smaller than the plan for it.
 3. Bytes that are not UTF-8, UTF-16, and files that are no text.
 4. Byte order marks, line ends, and letters that are composed in two ways.
 5. Strange scripts, and thousands of different characters.
 6. A text that is a folder, a device, a pipe or a terminal, is not there, or may not be read.
 7. A text that is large, or one long line, or changes while it is learned.
 8. A packed text that is cut short or damaged.
 9. File names with newlines, escape codes, dashes, or bytes that are not UTF-8.
10. A model file that is cut short, or has bits and bytes changed.
11. A file of somebody else in the place of a model, a folder, a device or a pipe.
12. Members of a model file that are packed, missing, too many, or not what they must be.
13. Facts in a model file that promise too much, make no sense, or steer a terminal.
14. A model file of a newer format.
15. A model file that is replaced while it is read.
16. Values of options that are out of range, and files that would be written over.
17. Primes that were never seen, are empty or huge, or came from an ASCII command line.
18. Going on with options or a corpus that contradict the model file.
19. A run that is killed, at random and at the worst moments.
20. A disk that is full, broken or read-only, and a limit on the size of files.
21. Signals, once and twice, Ctrl-Z, and a terminal that goes away.
22. Readers who leave, and streams that are closed or take nothing.
23. A loss that leaves every bound.
24. Two runs into one file.
25. Poor surroundings: no terminal, no locale, no home, no current folder.
26. Text that would steer a terminal.
27. Text that looks like markup.
28. Settings from Python of nearly the right type.
29. Metrics into a pipe whose reader leaves or sleeps; 30. below another run; 31. into a stream.
32. No thread to be had.
37. A signal while modules are imported, or at any other moment of the start.
39. A folder that vanishes. 40. Folders that are sticky or keep all. 41. Hints that fit.
43. COLUMNS of any size. 44. Long histories. 45. A limit in the words of the option.
46. A rank that is killed. 47. One that fails alone. 48. Signals to mpiexec. 49. Ranks that read
    another corpus, or do not know of each other.

And of a cluster, with real processes:

C1. A worker that is killed. C2. A machine that is lost. C3. One that stands still. C4. One that
comes late. C5. No worker at all. C6. The scheduler is lost. C7. Ctrl-C. C8. The client is killed.
C9. A piece that kills its workers. C10. A wrong byte in the middle of a text. C11. An address where
nobody is, or something else, another Dask, TLS. C12. Workers that are not alike. C13. A reader who
leaves.
"""
