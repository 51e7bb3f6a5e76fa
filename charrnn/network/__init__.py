"""The network of chapter 10.2 of *Deep Learning* (Goodfellow, Bengio, Courville), in numpy alone.

"The book" is this one, and numbers such as (10.8) are its equations. Read `cells` first, then
`parameters`, `heads`, `readout` and `through_time` (many steps, with gradients); `step` takes one
step at a time. `arrays` names the types, and multiplies matrices without copies.

This folder imports `settings` and `text`.
"""
