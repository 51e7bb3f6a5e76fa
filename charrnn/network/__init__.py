"""The network of chapter 10.2 of *Deep Learning* (Goodfellow, Bengio, Courville), in numpy alone.

"The book" is this one, and numbers such as (10.8) are its equations.
"""
