#!/bin/sh
# What a release promises of CUDA: tools/cuda_verify.sh BUILD
#
#   inference    texts, losses and operators have the processor's bits
#   training     so have trained parameters, stopped and resumed, and levels other than strict stay in their bounds
#   replay       recorded graphs give what the launches that they were recorded from gave, run by run
#   no fallback  every step of a plan is the device's; what it lacks is refused by name
# On the GPU of this machine where there is one (tools/cuda_check.sh), and always on the driver without one.
set -eu
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
status=0
echo "== on this machine's GPU"
sh "$top/tools/cuda_check.sh" "$build" || status=$?
case $status in
    0 | 77) ;; # 77: it has said that there is no device
    *) exit "$status" ;;
esac
echo "== emulated: inference, training, replay, no silent fallback"
cd "$build"
exec ctest --output-on-failure --no-tests=error -j "${JOBS:-$(nproc)}" -R \
    '^(test_backend_on_cuda|voltac_on_cuda|test_levels_on_cuda|cuda_check|test_mixed_training|test_cuda_graph|test_cublaslt_plans|test_device_traffic|test_device_failures|test_cuda_placement|test_cuda_no_driver)$'
