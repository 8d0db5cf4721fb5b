"""Spark, which counts where the data lives.

In reading order: `spark_session`, `spark_dialect`, `spark_source`.
"""
