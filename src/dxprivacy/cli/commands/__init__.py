"""One file per command of `dxp`; each defines `command`.

In reading order: `init_command`, `check_command`, `select_command`, `completion_command`, `demo_command`,
`inspect_command`, `ledger_command`, `man_command`, `release_command`, `reproduce_command`, `plan_command`,
`synth_command`, `verify_command`.
"""
