"""A model file: everything that a run has come to, in one .npz, written whole and read strictly."""
