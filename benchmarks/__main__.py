"""Run all benchmarks and print the table of docs/benchmarks.md."""

import sys

from benchmarks import histogram, least_noise, mwem, noise, plans, start, strategies, tables, trees


def main() -> int:
    rows = [
        row
        for module in (start, histogram, plans, least_noise, strategies, tables, noise, mwem, trees)
        for row in module.run()
    ]
    print("| what | ours | peer | ratio | target |")
    print("|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['what']} | {r['ours_s']:.3g} s | {r['peer_s']:.3g} s | {r['ratio']:.2f} | {r['target']} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
