"""ranges.py YAML: the text of each finding's ranges."""

import sys

import yaml

for row in yaml.safe_load(open(sys.argv[1]))["Diagnostics"]:
    texts = []
    for r in row["DiagnosticMessage"].get("Ranges", []):
        with open(r["FilePath"]) as file:
            text = file.read()[r["FileOffset"]:][:r["Length"]]
        texts.append(" ".join(text.split()))
    print(f"{row['DiagnosticName']}:", " // in ".join(texts))
