#!/bin/sh
# Runs programs on a processor with AVX-512 where there is none: emulate_avx512.sh BUILD 'PROGRAM ARGUMENTS'...
# Without programs: voltac doctor. Bochs emulates a whole computer, which starts Linux from memory and runs them there, in
# the folder BUILD/emulated; paths are those below BUILD. It is a hundred times slower than this machine, and
# starting takes a minute and a half. Status 0: all ended with 0. KERNEL=FILE: a Linux image for x86-64, with
# initrd and serial console built in; default: the distribution's for clouds, unpacked below BUILD, not installed.
# SECONDS_AT_MOST (3600): on this machine's clock, then it is ended.
set -eu

[ $# -ge 1 ] && [ -d "$1" ] || { echo "usage: emulate_avx512.sh BUILD ['PROGRAM ARGUMENTS'...]" >&2; exit 2; }
build=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- "voltac doctor --no-tuning"
limit=${SECONDS_AT_MOST:-3600}
for tool in bochs xorriso cpio busybox; do
    command -v $tool >/dev/null || { echo "emulate_avx512.sh needs $tool: sh tools/install_deps.sh emulate" >&2; exit 1; }
done
work=$build/emulated
mkdir -p "$work"
rm -rf "$work/root" "$work/disc" "$work/console"
mkdir -p "$work/root/bin" "$work/root/dev" "$work/root/proc" "$work/root/sys" "$work/root/tmp" "$work/root/volta" "$work/disc"

if [ -z "${KERNEL:-}" ]; then
    KERNEL=$(find "$work/kernel" -name 'vmlinuz-*' 2>/dev/null | head -n 1)
    if [ -z "$KERNEL" ]; then
        package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p' | head -n 1)
        (cd "$work" && apt-get download -q "$package" >&2 && dpkg-deb -x "$package"_*.deb kernel && rm "$package"_*.deb)
        KERNEL=$(find "$work/kernel" -name 'vmlinuz-*' | head -n 1)
    fi
fi

# What the programs need: themselves and the libraries that they are linked to, where they look for them.
cp "$(command -v busybox)" "$work/root/bin/busybox"
for command in "$@"; do
    program=${command%% *}
    mkdir -p "$work/root/volta/$(dirname "$program")"
    cp -L "$build/$program" "$work/root/volta/$program"
    ldd "$build/$program" | sed -n 's/^[^/]*\(\/[^ ]*\) (0x.*/\1/p' | while read -r library; do
        mkdir -p "$work/root$(dirname "$library")"
        [ -e "$work/root$library" ] || cp -L "$library" "$work/root$library"
    done
done
{
    echo '#!/bin/busybox sh'
    echo 'for at in proc:/proc sysfs:/sys devtmpfs:/dev tmpfs:/tmp; do'
    echo '    /bin/busybox mount -t ${at%%:*} none ${at#*:}'
    echo 'done'
    echo 'export HOME=/tmp; cd /volta; failed=0'
    for command in "$@"; do
        printf '%s\n' "echo '== $command'; ./$command 2>&1 || { failed=1; echo '== it ended with status' \$?; }"
    done
    echo 'echo "emulated: status $failed"; /bin/busybox sleep 3; /bin/busybox poweroff -f'  # the line is slow
} >"$work/root/init"
chmod +x "$work/root/init"

cp "$KERNEL" "$work/disc/linux"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$work/disc/"
(cd "$work/root" && find . | cpio -o -H newc 2>/dev/null) | gzip -1 >"$work/disc/root"
# Bits 321 and 323, XSAVEC and XSAVES: Bochs 2.7 gives Linux a wrong size of the registers that they save.
printf 'default linux\ntimeout 1\nlabel linux\n kernel /linux\n append initrd=/root console=ttyS0 quiet panic=1 %s\n' \
    'mitigations=off clearcpuid=321,323 noapic nosmp tsc=unstable trace_clock=local' >"$work/disc/isolinux.cfg"
xorriso -as mkisofs -quiet -o "$work/disc.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 \
    -boot-info-table "$work/disc" 2>/dev/null
cat >"$work/bochsrc" <<END
display_library: term
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
cpu: model=corei7_skylake_x, count=1, ips=100000000, reset_on_triple_fault=0
memory: guest=1024, host=1024
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$work/disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/console
clock: sync=none
log: $work/log
panic: action=fatal
error: action=ignore
info: action=ignore
END
echo continue >"$work/start"

# The display wants a terminal, and ends with it.
: >"$work/console"
tail -n +1 -f "$work/console" 2>/dev/null | sed -u -n '/^== /,$p' &
shown=$!
TERM=xterm timeout "$limit" script -q -c "bochs -q -f '$work/bochsrc' -rc '$work/start'" /dev/null >"$work/display" 2>&1 </dev/null || true
sleep 1
kill $shown 2>/dev/null || true
tr -d '\r' <"$work/console" | grep -q '^emulated: status 0' && exit 0
if ! grep -q '^emulated: status' "$work/console"; then
    echo "the emulated computer did not come to its end; its console: $work/console, Bochs: $work/log" >&2
fi
exit 1
