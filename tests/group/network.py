"""Hosts that a test makes for itself: network namespaces on one bridge, links that are cut, disks that are full, a stream in which a bit flips.

All of it is in namespaces of the test's own, which end with it: nothing of this machine is changed, and nothing is left.
"""

import os
import select
import shutil
import socket
import subprocess
import sys
import threading
import time

INSIDE = "--inside"


def enter_or_skip(skipped):
    """Goes on in namespaces of its own: network, mounts and processes; as root, or as a user who may be root in them. Ends with status
    `skipped` where the system has none of it."""
    if INSIDE in sys.argv:
        sys.argv.remove(INSIDE)
        return
    for tool in ("unshare", "nsenter", "ip", "mount"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed")
            sys.exit(skipped)
    try_out = "ip link add one type veth peer name other && ip link add bridge type bridge && mount -t tmpfs none /mnt"
    for user in ([], ["--user", "--map-root-user"]):
        unshare = ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run([*unshare, "sh", "-c", try_out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execvp("unshare", [*unshare, sys.executable, "-B", *sys.argv, INSIDE])
    print("skipped: no network namespaces, which need root, or a system that lets users make them")
    sys.exit(skipped)


def call(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class Network:
    """Hosts 0 .. count - 1 on a bridge, at 10.9.0.1 and so on; the test itself is at 10.9.0.254."""

    OWN = "10.9.0.254"
    CUTS = {  # what a host's administrator, a switch, a cable, a router do
        "its link is set down": ("on {host} ip link set card down", "on {host} ip link set card up"),
        "its port of the switch is set down": ("ip link set port{host} down", "ip link set port{host} up"),
        "all packets to and from it are lost": ("ip link set port{host} nomaster", "ip link set port{host} master switch"),
        "what it sends is lost": ("on {host} ip route add blackhole 10.9.0.0/25", "on {host} ip route del blackhole 10.9.0.0/25"),
    }

    def __init__(self, count):
        self.holders = []
        call("ip", "link", "set", "lo", "up")
        call("ip", "link", "add", "switch", "type", "bridge")
        call("ip", "addr", "add", self.OWN + "/24", "dev", "switch")
        call("ip", "link", "set", "switch", "up")
        for host in range(count):
            self._add(host)

    def _add(self, host):
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.holders.append(holder)
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
            time.sleep(0.01)
        call("ip", "link", "add", f"port{host}", "type", "veth", "peer", "name", "card", "netns", str(holder.pid))
        call("ip", "link", "set", f"port{host}", "master", "switch", "up")
        for words in (f"addr add {self.address(host)}/24 dev card", "link set card up", "link set lo up"):
            call(*self.on(host), "ip", *words.split())

    @staticmethod
    def address(host):
        return f"10.9.0.{host + 1}"

    def on(self, host):
        """What stands before a command that runs there; the process is the command's own."""
        return ["nsenter", f"--net=/proc/{self.holders[host].pid}/ns/net", "--"]

    def _run(self, line, host):
        words = line.format(host=host).split()
        call(*(self.on(host) + words[2:] if words[0] == "on" else words))

    def cut(self, host, how):
        self._run(self.CUTS[how][0], host)

    def mend(self, host, how):
        self._run(self.CUTS[how][1], host)


class SmallDisk:
    """A file system of so many bytes at a folder, which can be full; while `with` lasts."""

    def __init__(self, folder, size):
        self.folder, self.ballast = folder, os.path.join(folder, "ballast")
        os.mkdir(folder)
        call("mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        call("umount", "--lazy", self.folder)

    def fill(self):
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def empty(self):
        os.remove(self.ballast)


class Proxy:
    """Hands connections on to `target` and counts what goes through them. One bit flips: (connection, 0 for what goes to the target and 1
    for what comes back, byte, bit)."""

    def __init__(self, address, target, flip=None):
        self.target, self.flip = target, flip
        self.counts, self.has_flipped, self.connections = {}, False, 0
        self.listener = socket.create_server(address)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = self._reach_target()
            connection = self.connections
            self.connections += 1
            threading.Thread(target=self._hand_on, args=(connection, near, far), daemon=True).start()

    def _reach_target(self):
        for _ in range(1000):  # it may not listen yet
            try:
                return socket.create_connection(self.target, timeout=5)
            except OSError:
                time.sleep(0.01)
        return socket.socketpair()[0]  # one that ends at once

    def _hand_on(self, connection, near, far):
        ways = {near: (far, 0), far: (near, 1)}
        while ways:
            for source in select.select(list(ways), [], [])[0]:
                target, way = ways[source]
                if not self._move(connection, source, target, way):
                    del ways[source]
        near.close()
        far.close()

    def _move(self, connection, source, target, way):
        try:
            data = bytearray(source.recv(1 << 16))
            begin = self.counts.get((connection, way), 0)
            self.counts[connection, way] = begin + len(data)
            if self.flip and self.flip[:2] == (connection, way) and begin <= self.flip[2] < begin + len(data):
                data[self.flip[2] - begin] ^= 1 << self.flip[3]
                self.has_flipped = True
            target.settimeout(None)
            target.sendall(data)
            if not data:
                target.shutdown(socket.SHUT_WR)
            return bool(data)
        except OSError:  # one side has gone: the other sees its connection end
            for side in (source, target):
                try:
                    side.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            return False
