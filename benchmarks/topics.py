"""The topics of `make bench`: a title, the module that measures it, and what a reader has to know about its figures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """`python -m benchmarks NAME` measures one; long peers are left out unless they are asked for by name."""

    name: str
    title: str
    notes: str = ""
    by_name_only: bool = False


TOPICS = (
    Topic("start", "Starting", "Nobody should wait for help."),
    Topic(
        "noise",
        "Exact noise",
        "At least 1,024 samples are drawn at once: a single one costs 0.2 ms, more than OpenDP's.",
    ),
    Topic(
        "trees",
        "Many points",
        "From coordinates to a certified constant with its pair. The peer looks at all pairs in floats, at 100,000 points at "
        "one block in fifty, and its time is multiplied.",
    ),
    Topic("growth", "Growth", "![Processor seconds by number of points](pictures/growth.png)"),
    Topic(
        "places",
        "Policies over files of places",
        '`dxp check` and `dxp plan "count by home.state" "mean home.elevation"`, each from the start of its process.',
    ),
    Topic("optimal", "The optimal plan of many queries over many places"),
    Topic(
        "flights",
        "A table of flights",
        "An invented table with the sizes of nycflights13: 336,776 rows, 12 months, delays by minutes, 16 carriers, 3 origins, "
        "105 destinations, 20 classes of distance, 24 hours, 4,043 tail numbers. Whole commands, with the process that reads "
        "the file; memory is the sum of the peaks of both.",
    ),
    Topic(
        "sessions",
        "A session that stays open, beside other systems",
        "The same counts, warm (ours with other ranges each time; the same again take half of it), each system in an environment of its own under build/peers: OpenDP's Context (polars' "
        "threads included), diffprivlib (whose noise comes from floats) and Tumult Analytics (Spark's processes included). "
        "What they guarantee differs: only the time is compared.",
    ),
    Topic(
        "queries",
        "Queries that use the metric",
        "Root mean squared errors of released answers; ratios above 1 are in our favor but for the first of each three. OpenDP has one ε for all pairs: at our worst case it "
        "protects neighbors a hundred times less, and errs about as much or less; as strict with these as we are, it errs far more.",
    ),
    Topic(
        "k-norm",
        "K-norm noise",
        "Total squared errors at ε 1: ours on whole numbers; the target, or the best of independent noise that the planner finds in closed form. Seconds in the text are those of the search.",
    ),
    Topic(
        "beside",
        "Every kind of query beside OpenDP and diffprivlib",
        "Root mean squared errors against the records themselves: 5,000 people (ε: region 1, smoker 0.5, age 0.01 a year, rooms 0.1 each), and 20,000 homes at 3,000 places half a km apart (0.01 a km). "
        "A peer has one ε for all pairs: *at our worst case* the largest that our release has for any pair, so that it protects close ones up to a hundred times less; *as strict* the least that the query separates. "
        "Neighbors replace a record with everybody, and ε of the peers is what that takes ([OpenDP](../benchmarks/by_opendp.py), [diffprivlib](../benchmarks/by_diffprivlib.py)). Ratios above 1 are in our favor. "
        "**At our worst case we lose** with counts in hard cells (histogram, cumulative: six to eight times), maps (blurred, measured against hard cells), medians under conditions (two to four times), shares, and a little with means; "
        "variance, sd and correlation are better with us even there, covariance, ratios and several quantiles about alike. OpenDP's covariance and correlation are put together from its sums by hand. "
        "diffprivlib 0.6.6 does not import with scikit-learn 1.9, so it is no dependency of the tests: it has an environment of its own under build/peers.",
    ),
    Topic("ledgers", "Ledgers with many entries"),
    Topic("answers", "Ten thousand answers", "Whole commands, from the start of each process."),
    Topic(
        "histogram",
        "Counting files",
        "Medians of seconds that pass, not of processor time: threads are part of it. Our count includes the schema check, "
        "the domain, `other` and the join to cells; the peer is the bare `GROUP BY` on the same columns (10,000 groups). Its "
        "target of 1.3 was reached (1.08) while rows were grouped before they were placed; that told by its time how many "
        "different entries there are, and was given up ([ADR 12](adr/0012-no-row-decides.md)). Reading CSV line by line, "
        "each row by itself, costs more than DuckDB's reader, which guesses ([ADR 2](adr/0002-csv-by-lines.md)).",
    ),
    Topic(
        "people",
        "People with several rows",
        "Medians of seconds that pass. Ours groups rows by person and cell, numbers the rows of people who have more than count (half of them) by MD5, and keeps "
        "ten of each; the peer is the bare `GROUP BY` on key and columns, fetched.",
    ),
    Topic(
        "plans",
        "Certificates, and the demo's noise",
        "*max_ratio*: ours is exact, in fractions; the peer looks at all pairs in floats. *Median error*: below 1 means less "
        "noise than the paper's strategy for the median state, targets included.",
    ),
    Topic(
        "least_noise",
        "Least noise",
        "*psa* is strategy 3 of the paper, repaired. Where every row changes along every pair (uniform, smooth) it ends after one "
        "round, in which our own version is as fast as the optimum and has more noise; where it needs many rounds (binary) it "
        "is slower. The version on one matrix of all pairs is how one writes it down with numpy.",
    ),
    Topic("tables", "Tables", "Against each table at its least noise; twenty attributes are 1,140 tables."),
    Topic(
        "hdmm",
        "Beside HDMM",
        "Root mean squared error over all queries of a workload, ε = 1, a record added or removed, continuous noise. The peer is HDMM's published error (at a noise "
        "variance of 1, hence times √2; the best of nine or ten runs of its own repository, dpcomp-org/hdmm). Workloads: *CPS* 50 × 100 × 7 × 4 × 2, *Adult* 100 × 100 × 100 × 99 × 85 × 42 × 16 × 15 × 9 × 7 × 6 × 5 × 2 × 2, "
        "*Loans* 101 four times, 3, 8, 36, 6, 51, 4, 5, 15; *marginals* single values, *prefix* all prefixes along the attributes of 50 values and more that are numbers (two of CPS, the first five of Adult, the first four of Loans). "
        "What is not certain: the tables of Loans are taken as all of at most 5,000 cells, as their name and number in the repository say, but the function that lists them there compares another size; and of CPS the repository has ranges where the figures say marginals and prefixes: they are taken as every product of single values and everybody, and as prefixes along both numbers times single values and everybody along the rest. "
        "Tables of counts are what plans use too; products of rows along attributes are not yet: they are arrays without a certificate.",
    ),
    Topic(
        "mwem",
        "Synthetic records",
        "A single pass is `y.sum()`, timed between the rounds, when the rounds have emptied the caches. Errors are means over five "
        "random tables (Dirichlet 1/2), in counts, against the uniform histogram's; the time against the uniform histogram means "
        "nothing. *Unequal budgets* are 1, 8, 8, 8 against a constant 1. SmartNoise brings torch along and takes 11 minutes: "
        "`python -m benchmarks.mwem` runs it too. There ours erred by 85.3 and SmartNoise MWEM (smartnoise-synth 1.0.8, its "
        "defaults) by 83.9 counts; it measures whole tables of one and two attributes, under neighbors that add or remove a "
        "record, which costs a table half of what a replaced record costs. On tables with many empty cells (Dirichlet 1/10) it was "
        "better: 61 counts against 73.",
    ),
    Topic(
        "strategies",
        "Strategies for all ranges",
        "The ratio is the total squared error over its target; the limit is one that no independent Laplace noise goes below. The seconds "
        "are those of choosing, and of computing the limit.",
    ),
    Topic(
        "engines",
        "Where the data lives",
        "Tables of 20 columns, counted by the engine that holds them; memory is that of our own process. `make bench-engines` takes some minutes and 8 GB of disk, and is no part of `make bench`.",
        by_name_only=True,
    ),
)
