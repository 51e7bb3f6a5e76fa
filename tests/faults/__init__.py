"""Faults as a user meets them: bad input, killed processes, full disks, closed streams.

Test names begin with the number of their fault in this list. A child process is used where the
fault concerns a process; other varieties run in the process of the test, which is quicker.

 1. A corpus that is empty or tiny.
 2. A corpus that is too small for the given sizes.
 3. Bytes that are not UTF-8, UTF-16, and binary files.
 4. Byte order marks, line ends, composed and decomposed letters.
 5. Unusual scripts, and thousands of distinct characters.
 6. A corpus that is a folder, a device, a pipe or a terminal, is missing, or may not be read.
 7. A corpus that is large, is one long line, or changes during training.
 8. A compressed corpus that is cut short or damaged.
 9. File names with newlines, escape codes, dashes, or bytes that are not UTF-8.
10. A model file that is cut short, or has changed bits and bytes.
11. A foreign file, a folder, a device or a pipe where a model is expected.
12. Members of a model file that are compressed, missing, extra or wrong.
13. Facts in a model file that promise too much, contradict each other, or steer a terminal.
14. A model file of a newer format.
15. A model file that is replaced while it is read.
16. Options out of range, and files that would be overwritten.
17. Primes that are empty, huge, unseen in training, or from an ASCII command line.
18. Resuming with options or a corpus that contradict the model file.
19. A run that is killed, at random and at the worst moments.
20. A disk that is full, broken or read-only, and a limit on file sizes.
21. Signals, once and twice, and a terminal that closes.
22. Readers that leave, and streams that are closed or full.
23. A loss that diverges.
24. Two runs into one file.
25. Environments without a terminal, locale, home or current folder.
26. Text that would steer a terminal.
27. Text that looks like markup.
28. Settings from Python of nearly the right type.
29. Metrics into a pipe whose reader leaves or sleeps; 30. below another run; 31. into a stream.
37. A signal during imports, or at any other moment of the start.
39. A folder that vanishes. 40. Folders that are sticky or append-only. 41. Hints that fit.
43. COLUMNS of any size. 44. Long histories. 45. A limit, named in the words of the option.
51. A line of a sweep or of metrics that finds
    no room. 52. A model to start from, with a cell that reads its outputs. 53. Forged JSON in a
    file. 54. Hints for a full disk. 55. The probability of a new character.
56. Two writers of one file, links that change, clocks that jump, kills of workers.
57. Faults found by reading. 58. Tests that fail by chance. 59. All of these for an hour.

Faults of a cluster, with real processes:

C1. A worker is killed. C2. A machine is lost. C3. A machine freezes. C4. A machine joins late.
C5. There are no workers. C6. The scheduler is lost. C7. Ctrl-C. C8. The client is killed. C9. A
piece kills its workers. C10. A wrong byte in the middle of a text. C11. An address without a
scheduler, with another service, another version of Dask, TLS. C12. Workers that differ. C13. A
reader that leaves.
"""
