#!/bin/sh
# Submits an array of tasks that run a part each, and a job that makes one verdict of them.
#
#   ./slurm.sh SUITES [PARTS]
#
# Prints the number of the job with the verdict; `sacct -j NUMBER --format=ExitCode` has its exit code. Recordings and
# reports go to `parts/` and `out/` of the current folder, which all nodes must see.
set -eu

suites=$1
parts=${2:-8}
mkdir -p parts out
rm -f parts/*.ndjson

# Slurm tells each task its number. Findings (exit code 1) are for the verdict; a task fails for what else goes wrong.
tasks=$(sbatch --parsable --job-name=mcprove-part --array="1-$parts" --output='out/part-%a.log' --export=ALL --wrap="
  mcprove run '$suites' --shard \"\$SLURM_ARRAY_TASK_ID/$parts\" --state-dir \"\${TMPDIR:-/tmp}/mcprove-\$SLURM_JOB_ID\" \
    --report \"ndjson=parts/\$SLURM_ARRAY_TASK_ID.ndjson\" || [ \$? -eq 1 ]")

# A task that is cut off leaves no whole recording, and the merge says which part is missing.
sbatch --parsable --job-name=mcprove-verdict --dependency="afterany:$tasks" --output=out/verdict.log --export=ALL --wrap="
  mcprove merge parts/*.ndjson --report junit=out/junit.xml --report html=out/index.html"
