"""Spark, which counts where the data lives.

In reading order: `spark_settings`, `spark_dialect`, `spark_address`, `spark_session`, `spark_tables`, `spark_source`.
"""
