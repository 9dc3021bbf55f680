/* SPDX-License-Identifier: Apache-2.0
 * The pages of `gradgate help` that are about no one command. */
#include <stddef.h>

#include "harness/options.h"

static const char kernels[] =
    "A kernel on trial is one gg_kernel struct (gradgate/abi.h): names, limits, and forward and\n"
    "backward on DLPack tensors. It never allocates: outputs, saved tensors and workspace are\n"
    "the caller's, filled with poison, so that a byte that was not written shows.\n"
    "\n"
    "'gradgate list kernels' has the built-in ones with their features, 'gradgate list limits'\n"
    "the figures that each must keep. Most CUDA kernels have a host twin of the same name: the\n"
    "same arithmetic, step by step, on the CPU. --device host runs the twin and so predicts the\n"
    "bits of a card; --golden FILE holds them to digests that a card made.\n"
    "\n"
    "A kernel of your own: see 'gradgate help plug-ins'.\n";

static const char plug_ins[] =
    "A kernel of your own is a shared object that ends in GG_PLUGIN(&kernel); and is run by its\n"
    "path: --kernel ./mine.so, or ./mine.so:NAME when it brings several. 'gradgate list kernels\n"
    "--kernel ./mine.so' shows what it brings; scripts/examples/plugin/ is one of 80 lines. The\n"
    "report records the file's digest. Checks for which it states no limits are not verified:\n"
    "state them in the struct, or borrow them with --limits-of KERNEL.\n"
    "\n"
    "A C program judges its kernel in its own process through libgradgate: include\n"
    "gradgate/gradgate.h, link with pkg-config --libs gradgate; examples/api/ is one of 30 lines.\n"
    "The examples are under share/gradgate of an installation, scripts/ of the sources.\n";

static const char exchange[] =
    "A kernel that is no C function is judged through safetensors files, which PyTorch, JAX,\n"
    "MLX and others read and write. Tensors have the operator's names ('gradgate list\n"
    "operators'); in.safetensors says under __metadata__ which outputs are wanted, as in\n"
    "\"o:BF16 dq:BF16 dbias:F32\". One call makes all outputs, forward and backward.\n"
    "\n"
    " --kernel exec:CMD   runs CMD once a call, with a folder as its last argument. It reads\n"
    "                     in.safetensors there, writes out.safetensors and exits with 0; 77\n"
    "                     declines (the reason is its last line on standard error)\n"
    " --kernel serve:CMD  starts CMD once. It reads folders from standard input, one a line,\n"
    "                     and answers each with a line on standard output: ok, declined\n"
    "                     REASON, or error TEXT\n"
    "\n"
    "CMD is run by sh. GRADGATE_DEVICE tells it the device of the run. A call that declines or\n"
    "reports an error is not verified; one that dies, hangs (--timeout, 300 s), says something\n"
    "else or writes a wrong type or shape has failed; the run goes on. The files are in a\n"
    "folder of their own in /dev/shm, TMPDIR or /tmp and are removed after the call.\n"
    "\n"
    "For a machine out of reach: 'gradgate export' writes the inputs, 'gradgate check' judges\n"
    "the outputs. For your own tensors: 'gradgate run --inputs FILE --operator OPERATOR'.\n"
    "Nothing is ever converted from one type to another. scripts/peers/ has adapters for\n"
    "PyTorch, Triton, cuEquivariance and JAX.\n";

static const char cases[] =
    "A case is an operator, a family of inputs, extents, types and a seed. Its inputs are a\n"
    "function of those alone, the same bits on every machine. A suite is a JSON file that names\n"
    "cases; 'gradgate list suites' has the built-in ones, 'gradgate list families' the families.\n"
    "\n"
    "    {\"gradgate_suite\": 1, \"name\": \"mine\", \"operator\": \"...\", \"id\": \"ND\",\n"
    "     \"cases\": [{\"extents\": {\"R\": \"N\", \"N\": [24, 48], ...},\n"
    "                \"families\": [\"normal\"],\n"
    "                \"seeds\": {\"first\": 0, \"count\": 10}}]}\n"
    "\n"
    "--suite takes a name or a path; names are looked up in $GRADGATE_SUITES, then where\n"
    "gradgate is installed. --case takes a shell pattern of case ids, as in --case '*-N24-*'.\n";

static const char verdicts[] =
    " passed        all that was asked was measured, and stayed within its limits\n"
    " failed        a figure is beyond its limit, is NaN, or bits differ that must not\n"
    " not verified  nothing, or not enough, was measured to say either\n"
    "\n"
    "A run is as bad as its worst case, a case as its worst check. What did not run is never\n"
    "passed: one run on an input shows no determinism, a truth too close to the error shows no\n"
    "accuracy. 'gradgate list checks' has the checks.\n"
    "\n"
    "Per output a report gives: rmse, and its ratio to the rounding floor (1.00: only the\n"
    "rounding of the result itself is left); gauge, |error| over what one rounding of each\n"
    "intermediate may do to that element; roundings, rmse over that of an FP64 evaluation of the\n"
    "same input with the roundings that the kernel states, at most 1.1 (where it was asked for,\n"
    "and FP32 accumulation does not count); repeat, the elements whose bits changed between\n"
    "equal runs; certificate, the distance of the FP64 truth from MPFR.\n";

static const char determinism[] =
    "--repeats N runs each case N times on the same input and compares every bit. N equal runs\n"
    "exclude, at 95 %, a rate of mismatch above 1 - 0.05^(1/(N-1)): 53 % for 5 runs, 15 % for\n"
    "20, 1.5 % for 200. The report prints the bound beside the claim.\n"
    "\n"
    "Outputs, saved tensors and workspace are filled with another poison before each run, so a\n"
    "kernel that reads what it did not write differs. One changed bit fails the case; the table\n"
    "says where it was first seen, both values and their distance in ulps.\n"
    "\n"
    "'gradgate determinism' and --levels measure more conditions, each apart ('gradgate list\n"
    "checks' names them). A level fails when bits differ from those of a run that had the device\n"
    "to itself. It passes only when a control, a kernel whose sums have no fixed order, differed\n"
    "under the same condition, and, under load and together, when other work or other calls\n"
    "really ran beside the kernel; else it is not verified. (The control of together is a right\n"
    "kernel whose calls are made to share memory.) Fresh processes are at most 20 a case on the\n"
    "host, 5 on a GPU.\n";

static const char ablation[] =
    "A kernel may have features that can be switched off, such as compensation. Each case is\n"
    "then run once more with the feature off, on the same input: the pair gives the reduction of\n"
    "RMSE by the feature, per output and family, with its interval.\n"
    "\n"
    " earned          the interval lies above zero\n"
    " not resolvable  it holds zero, or there are fewer than 5 pairs\n"
    " collapsed       nothing of it lies above zero, or on and off are equal in every pair\n"
    "\n"
    "--ablate FEATURE chooses the feature, --ablate none leaves the pair out. 'gradgate gate'\n"
    "fails a report that lost a benefit which its baseline had.\n";

static const char scale[] =
    "On a GPU, and for a shared object, the cases run in a process of their own. A kernel that\n"
    "crashes, ends its process, or gives no answer within --timeout fails the case that it was\n"
    "running; a process that somebody else killed leaves it not verified. A new process goes on\n"
    "with the next case. After 20 in a row the rest is not verified.\n"
    "\n"
    "Whoever is free gets the next case:\n"
    "    run --device cuda:all                all GPUs of the host; cuda:0,2 takes two\n"
    "    run --workers 4                      four processes on the host\n"
    "    mpirun -n 8 --bind-to none gradgate run --mpi --device cuda ...\n"
    "                                         a GPU a rank (built with make MPI=1); bound to a\n"
    "                                         core, a rank has one thread for the host's work\n"
    "    run --shard 3/8, then merge          no connection at all; scripts/slurm/array.sbatch\n"
    "The report names the devices and says which ran each case; all else in it is as if one\n"
    "had run alone. Every twentieth case, and at least six, run on each device: other bits fail\n"
    "the case in the check 'across'.\n"
    "\n"
    "When a rank of an MPI job dies, mpirun ends the job; finished cases are in the journal, and\n"
    "--resume goes on. With 'mpirun --enable-recovery' Open MPI lets the others work on and only\n"
    "the rank's case is lost, but mpirun then exits with 0 whatever happened: take the verdict\n"
    "from 'gradgate report FILE'.\n";

static const char ci[] =
    "    gradgate run --suite smoke600 --kernel turbo --device host --out new.json\n"
    "    gradgate gate new.json --baseline baseline.json --markdown summary.md\n"
    "    gradgate report new.json --junit junit.xml --html report.html\n"
    "\n"
    "The exit code of run and gate is the verdict; only 0 is green. The baseline is the report\n"
    "of an accepted build, kept where only CI writes. gradgate/ci/ under share/ (scripts/ci/ in\n"
    "the sources) has recipes for GitHub Actions and GitLab, with a GPU and without.\n";

static const char exit_codes[] =
    " 0  passed\n"
    " 1  failed\n"
    " 2  not verified: no device, too little measured, a crash; never a pass\n"
    " 3  usage or bad input: one line on standard error says what, where, what to do\n";

static const char files[] =
    " GRADGATE_SUITES  a folder with suites of your own, looked up before the built-in ones\n"
    "\n"
    "A report is written to a temporary file and renamed: a reader sees the old one or the\n"
    "whole new one. FILE.journal beside it holds the finished cases of a run under way.\n"
    "\n"
    "Suites and golden digests are found from where the program lies: PREFIX/bin/gradgate looks\n"
    "in PREFIX/share/gradgate, a program in a build folder in the sources around it.\n";

const gg_topic gg_topics[] = {
    {"kernels", "what is on trial: built-in kernels and their twins", kernels},
    {"plug-ins", "a kernel of your own: shared object, C program", plug_ins},
    {"exchange", "kernels of any framework: commands and files", exchange},
    {"cases", "what is tried: suites, families, seeds", cases},
    {"verdicts", "passed, failed, not verified, and the figures behind them", verdicts},
    {"determinism", "equal bits, and how strong the claim is", determinism},
    {"ablation", "what a precision trick is worth", ablation},
    {"scale", "crashes, several GPUs, MPI, Slurm", scale},
    {"ci", "a gate in continuous integration", ci},
    {"exit-codes", "what the program returns", exit_codes},
    {"files", "where suites, reports and journals are", files},
    {NULL, NULL, NULL},
};
