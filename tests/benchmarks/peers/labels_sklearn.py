"""Logistic regression on n-grams of characters: it reads texts and labels, and tells labels.

PYTHON labels_sklearn.py < TEXTS.json
"""

import json
import sys

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

given = json.load(sys.stdin)
texts, labels = zip(*given["learn"], strict=True)
grams = TfidfVectorizer(analyzer="char", ngram_range=(1, 5), sublinear_tf=True, lowercase=True)
model = make_pipeline(grams, LogisticRegression(C=10, max_iter=1000))
model.fit([f"^{text}$" for text in texts], labels)
json.dump(model.predict([f"^{text}$" for text in given["held_out"]]).tolist(), sys.stdout)
