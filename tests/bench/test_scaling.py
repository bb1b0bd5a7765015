"""bench/scaling.py and its model: what a step costs by arithmetic, on planted figures; and its transport. No library, no other machine."""

import array
import concurrent.futures
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = os.path.join(ROOT, "bench")
sys.path.insert(0, BENCH)

import scaling  # noqa: E402
import scaling_model as model  # noqa: E402

MIB = 1 << 20
FREE = model.Costs(compute=0.0, add=0.0, norms=0.0, update=0.0, send=0.0, receive=0.0)


def costs(**given):
    return model.Costs(**{**dict(compute=0.0, add=0.0, norms=0.0, update=0.0, send=0.0, receive=0.0), **given})


def large(exchanges):
    return [pair for pair in exchanges if max(pair[1:]) > 4096]


class PortionsTest(unittest.TestCase):
    def test_the_largest_goes_to_the_rank_that_has_least(self):
        self.assertEqual(model.share_out([1, 4, 8, 4], 2), [0, 1, 0, 1])
        self.assertEqual(model.share_out([5, 5, 5], 4), [0, 1, 2])
        self.assertEqual(model.share_out([7], 8), [0])

    def test_large_tensors_are_cut_and_small_ones_put_together(self):
        self.assertEqual(model.buckets([MIB + 20000]), [4 * MIB, 80000])
        self.assertEqual(model.buckets([16383, 0, 16383]), [8 * 16383])
        self.assertEqual(model.buckets([16384, 16384]), [65536, 65536])
        self.assertEqual(model.buckets([16000] * 66), [4 * 16000 * 65, 4 * 16000])
        self.assertEqual(model.buckets([MIB + 5, 7]), [4 * MIB, 48])  # what is left of the first is small
        self.assertEqual(model.buckets([]), [])

    def test_ranks_expect_what_their_peers_send(self):
        elements = [3 * MIB, 100, MIB // 2, 20000, 17, 5 * MIB + 3]
        for ranks in (2, 4, 8, 64):
            queues = {rank: model.messages(model.Tensors(elements), ranks, rank) for rank in range(ranks)}
            for rank in range(ranks):
                for peer in {message[0] for message in queues[rank]}:
                    mine = [pair[1:] for pair in queues[rank] if pair[0] == peer]
                    theirs = [pair[1:] for pair in queues[peer] if pair[0] == rank]
                    self.assertEqual(mine, [(sent, received) for received, sent in theirs])

    def test_statistics_are_summed_behind_gradients_and_have_no_norm(self):
        with_them, without = (model.messages(tensors, 2, 0) for tensors in (model.Tensors([5, 3], [4, 2]), model.Tensors([5, 3, 4, 2])))
        self.assertEqual(with_them, [(1, 8, 8), (1, 8, 8), (1, 28, 28), (1, 4, 4), (1, 4, 4), (1, 28, 28)])
        self.assertEqual(without[-2:], [(1, 8, 8), (1, 28, 28)])

    def test_every_rank_is_given_what_it_does_not_own(self):
        elements = [3 * MIB, 2 * MIB, 5 * MIB]
        for ranks in (2, 4, 8):
            portions = model.Portions(elements, ranks)
            for rank in range(ranks):
                back = sum(pair[1] for d in model.levels(ranks) for pair in portions.gathered(rank, rank ^ d, d))
                self.assertEqual(back, 4 * sum(elements) - portions.owned(rank))


class StepTest(unittest.TestCase):
    def test_one_rank_only_computes(self):
        step = model.step(model.Tensors([MIB]), 1, costs(compute=2.0, norms=1 / MIB, update=1 / MIB, send=1.0, receive=1.0, call=1.0), model.Link(9.0, 1.0))
        self.assertEqual(step, model.Step(10.0, 10.0, 0.0, 0.0))

    def test_two_ranks_and_one_tensor(self):
        """4 MiB to the rank that owns it and back, over 4 MiB/s and an eighth of a second."""
        rate, seconds = 4.0 * MIB, 0.125
        eight, four = 8 / rate, 4 / rate
        step = model.step(model.Tensors([MIB]), 2, costs(compute=3.0), model.Link(seconds, rate))
        counts, loss, norm = 2 * (eight + seconds), four + 2 * seconds, seconds
        self.assertAlmostEqual(step.seconds, counts + 3.0 + 1.0 + loss + norm + 1.0 + seconds, places=12)
        self.assertAlmostEqual(step.compute, 3.0, places=12)
        self.assertAlmostEqual(step.compute + step.exchange + step.wait, step.seconds, places=12)

    def test_what_is_received_is_added_between_two_buckets(self):
        """8 MiB are two buckets; the second leaves when the first is added."""
        link = model.Link(0.0, 4.0 * MIB)
        step = model.step(model.Tensors([2 * MIB, 2 * MIB]), 2, costs(add=1 / (4 * MIB)), link)
        self.assertAlmostEqual(step.seconds, 2 * 2 + 2 * 1, places=4)

    def test_latency_is_paid_for_every_bucket(self):
        elements, rate = [2 * MIB, 2 * MIB], 4.0 * MIB
        near, far = (model.step(model.Tensors(elements), 2, FREE, model.Link(seconds, rate)).seconds for seconds in (0.0, 0.25))
        self.assertAlmostEqual(far - near, 0.25 * (2 + 2 + 1 + 1 + 2), places=12)  # counts, sums, loss, norms, parameters

    def test_even_owners_send_each_byte_once(self):
        """63/64 of all bytes there and back, whatever the number of levels."""
        for ranks in (2, 8, 64):
            step = model.step(model.Tensors([MIB] * 64), ranks, FREE, model.Link(0.0, 256.0 * MIB))
            self.assertAlmostEqual(step.seconds, 2 * (ranks - 1) / ranks, places=5)

    def test_one_tensor_crosses_a_link_at_every_level(self):
        for ranks, count in ((2, 1), (8, 3), (64, 6)):
            step = model.step(model.Tensors([64 * MIB]), ranks, FREE, model.Link(0.0, 256.0 * MIB))
            self.assertAlmostEqual(step.seconds, 2 * count, places=5)

    def test_uneven_owners_wait(self):
        even = model.step(model.Tensors([MIB] * 64), 8, FREE, model.Link(0.0, 256.0 * MIB))
        uneven = model.step(model.Tensors([32 * MIB] + [MIB] * 32), 8, FREE, model.Link(0.0, 256.0 * MIB))
        self.assertAlmostEqual(even.wait, 0.0, places=5)
        self.assertGreater(uneven.seconds, 1.5 * even.seconds)
        self.assertGreater(uneven.wait, 0.1)

    def test_the_slower_of_wire_and_processor_counts(self):
        wire = model.step(model.Tensors([MIB] * 2), 2, FREE, model.Link(0.0, 4.0 * MIB)).seconds
        under = model.step(model.Tensors([MIB] * 2), 2, costs(send=0.4 / (4 * MIB), receive=0.4 / (4 * MIB)), model.Link(0.0, 4.0 * MIB)).seconds
        over = model.step(model.Tensors([MIB] * 2), 2, costs(send=0.75 / (4 * MIB), receive=0.75 / (4 * MIB)), model.Link(0.0, 4.0 * MIB)).seconds
        self.assertAlmostEqual(under, wire, places=5)
        self.assertAlmostEqual(over, 1.5 * wire, places=4)

    def test_a_link_that_has_rested_passes_a_burst_at_once(self):
        link = model.Link(0.0, 4.0 * MIB, burst=1.0 * MIB)
        step = model.step(model.Tensors([MIB] * 2), 2, costs(compute=1.0, update=1 / (4 * MIB)), link)
        self.assertAlmostEqual(step.seconds, 1.0 + 0.75 + 1.0 + 0.75, places=4)

    def test_what_a_transport_costs_is_found_from_a_step(self):
        link, elements = model.Link(1e-4, 1e9), [MIB] * 5
        own = costs(compute=0.1, add=1e-10, send=3e-9, receive=3e-9)
        measured = model.step(model.Tensors(elements), 2, own, link).seconds
        found = model.transport_cost(model.Tensors(elements), 2, costs(compute=0.1, add=1e-10), link, measured)
        self.assertAlmostEqual(found.send / 3e-9, 1.0, places=6)
        self.assertEqual(found.send, found.receive)
        self.assertAlmostEqual(model.transport_cost(model.Tensors(elements), 2, costs(compute=0.1), link, 0.0).send, 0.0, places=15)

    def test_frames_have_headers(self):
        self.assertAlmostEqual(model.payload_rate(1e9), 125e6 * 1448 / 1538)


class MeasuredTest(unittest.TestCase):
    """The parts of a step from what a transport that sends nothing has written down."""

    elements = [3 * MIB, 100, 2 * MIB, 20000]

    def steps(self, rank, ranks=4):
        """A step in which compute takes 5 s, a received byte 2 ns, norms 1 s, the update 2 s and each call 1 ms."""
        calls, now = [], 0.0
        few, portions = len(model.levels(ranks)), model.Portions(self.elements, ranks)
        added = sum(len(portions.added(rank, rank ^ d, d)) for d in model.levels(ranks))
        for at, (peer, sent, received) in enumerate(model.messages(model.Tensors(self.elements), ranks, rank)):
            if at == 2 * few:
                now += 5.0
            if at == 3 * few + added:
                now += 1.0
            if large([(peer, sent, received)]) and at == 2 * few + added + few + self.norms(portions, rank, ranks):
                now += 2.0
            calls.append([now, now + 1e-3, peer, sent, received])
            now += 1e-3
            if 2 * few <= at < 2 * few + added:
                now += 2e-9 * received
        return [{"seconds": now, "calls": calls}]

    @staticmethod
    def norms(portions, rank, ranks):
        of = model.Portions([1] * len(portions.elements), ranks, portions.owners)
        return sum(len(of.gathered(rank, rank ^ d, d)) for d in model.levels(ranks))

    def test_parts_are_told_apart(self):
        owned = model.Portions(self.elements, 4).owned(0)
        found = scaling.costs_of(self.steps(0), model.Tensors(self.elements), 4, 0)
        self.assertAlmostEqual(found.compute, 5.0, places=9)
        self.assertAlmostEqual(found.add, 2e-9, places=15)
        self.assertAlmostEqual(found.norms * owned, 1.0, places=9)
        self.assertAlmostEqual(found.update * owned, 2.0, places=9)

    def test_another_order_of_messages_is_told(self):
        calls = self.steps(0)[0]["calls"]
        scaling.check_messages(calls, model.Tensors(self.elements), 4, 0)
        calls[6][3] += 4
        with self.assertRaises(SystemExit) as ended:
            scaling.check_messages(calls, model.Tensors(self.elements), 4, 0)
        self.assertIn("exchange 6 of rank 0 of 4 is", str(ended.exception))
        with self.assertRaises(SystemExit):
            scaling.check_messages(self.steps(0)[0]["calls"][:-1], model.Tensors(self.elements), 4, 0)

    def test_the_slowest_rank_is_waited_for(self):
        mean = scaling.mean_costs([costs(compute=1.0, add=1.0), costs(compute=3.0, add=3.0)])
        self.assertEqual((mean.compute, mean.add), (3.0, 2.0))


class SilentTest(unittest.TestCase):
    """A transport that sends nothing leaves sums and parameters as they were."""

    def test_what_comes_keeps_everything(self):
        elements = [20000, 7, MIB + 3, 9, 5]
        values = [array.array("f", range(tensor, tensor + count)) for tensor, count in enumerate(elements)]
        for ranks in (2, 4, 8):
            for rank in range(ranks):
                tensors = model.Tensors(elements[:4], elements[4:])
                silent = scaling.NoTransport(tensors, values, ranks, rank)
                joined = bytearray(8)
                silent(rank ^ 1, memoryview(b"joining!"), memoryview(joined))
                self.assertEqual(joined, b"joining!")
                silent.begin_step()
                came = [self.received(silent, message) for message in model.messages(tensors, ranks, rank)]
                self.assertEqual([call[2:] for call in silent.calls], model.messages(tensors, ranks, rank))
                portions, norms = tensors.portions(ranks)
                few = model.levels(ranks)
                added = sum(len(portions.added(rank, rank ^ d, d)) for d in few)
                self.assertTrue(all(one.count(0) == len(one) for one in came[2 * len(few):2 * len(few) + added]))
                back = b"".join(came[3 * len(few) + added + sum(len(norms.gathered(rank, rank ^ d, d)) for d in few):])
                expected = b"".join(
                    self.packed_or_untouched(values, bucket)
                    for d in reversed(few) for bucket in model.slices(portions.chosen(2 * d - 1, rank ^ d)))
                self.assertEqual(back, expected)

    @staticmethod
    def received(silent, message):
        peer, sent, received = message
        into = bytearray(b"\x55" * received)
        silent(peer, memoryview(bytes(sent)), memoryview(into))
        return bytes(into)

    @staticmethod
    def packed_or_untouched(values, bucket):
        if len(bucket) == 1:
            return b"\x55" * (4 * bucket[0][2])  # in its place
        return b"".join(values[tensor][first:first + count].tobytes() for tensor, first, count in bucket)


class SocketsTest(unittest.TestCase):
    """The transport with a delay, between two threads."""

    def setUp(self):
        with contextlib.ExitStack() as free:
            ports = [free.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(2)]
        addresses = [("127.0.0.1", port) for port in ports]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            self.ranks = list(pool.map(lambda rank: scaling.DelayedSockets(rank, 2, addresses), range(2)))
        for rank in self.ranks:
            for connection in rank.sockets.values():
                self.addCleanup(connection.close)

    def exchange(self, sent, room):
        """What each of the two receives."""
        into = [bytearray(size) for size in room]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            done = [pool.submit(self.ranks[rank], 1 - rank, memoryview(sent[rank]), memoryview(into[rank])) for rank in range(2)]
            for one in done:
                one.result(60)
        return [bytes(one) for one in into]

    def test_bytes_arrive_both_ways(self):
        long, short = bytes(range(256)) * 8192, b"seven b"
        self.assertEqual(self.exchange([long, short], [7, len(long)]), [short, long])
        self.assertEqual(self.exchange([b"", short], [7, 0]), [short, b""])

    def test_nothing_comes_before_the_delay(self):
        for rank in self.ranks:
            rank.delay = 0.05
        begin = time.perf_counter()
        self.exchange([b"one", b"two"], [3, 3])
        self.assertGreaterEqual(time.perf_counter() - begin, 0.05)

    def test_another_length_is_told(self):
        with self.assertRaisesRegex(ConnectionError, "rank 1 sent 3 bytes where 2 were expected"):
            self.exchange([b"ab", b"abc"], [2, 3])


class PageTest(unittest.TestCase):
    machine = dict(cpu="a processor", **{"class": "A/1/2"}, cores=2, memory_gib=8.0, system="a system", kernel="6.1", compiler="g++", load=0.1,
                   date="2026-01-02")

    def test_tables_go_into_the_page(self):
        validated = [dict(case="tiny", rows=4, ranks=2, link="1 Gbit/s", transport="tcp", measured_s=2.0, predicted_s=1.9, error=-0.05)]
        predicted = scaling.prediction_rows("one", "one tensor", model.Tensors([MIB]), costs(compute=1.0), (8,))
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.md")
            with open(page, "w", encoding="utf-8") as file:
                file.write("before\n<!-- bench:scaling_validation:begin -->\n<!-- bench:scaling_validation:end -->\nbetween\n"
                           "<!-- bench:scaling_prediction:begin -->\nold\n<!-- bench:scaling_prediction:end -->\n")
            scaling.write_page(page, self.machine, validated, predicted)
            with open(page, encoding="utf-8") as file:
                text = file.read()
        self.assertIn("2 ranks, a GPT of 1.7 M parameters, 4 rows of 64 tokens a rank, on a processor (class A/1/2), 2 cores", text)
        self.assertIn("| 1 Gbit/s | tcp | 2.000 | 1.900 | -5.0 % |", text)
        self.assertIn("Prediction from parts measured on a processor", text)
        self.assertIn("| one tensor | 1 | - | 1.00 | 100 % | 0 % | 0 % | 1.00 |", text)
        self.assertNotIn("old", text)

    def test_the_page_is_asked_for_whole(self):
        for part in ("--validate", "--predict"):
            done = ScriptTest().run_script(part, "--write", "page.md")
            self.assertEqual(done.returncode, 2)
            self.assertIn("argument --write: the page has both tables", done.stderr)


class ScriptTest(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run([sys.executable, "-B", os.path.join(BENCH, "scaling.py"), *arguments], capture_output=True, text=True, check=False)

    def test_check_predicts_of_fixed_numbers(self):
        done = self.run_script("--check", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = {(row["case"], row["ranks"], row["link"]): row for row in map(json.loads, done.stdout.splitlines())}
        self.assertTrue(all(row["kind"] == "prediction" for row in rows.values()))
        # 1 s, and of 256 MiB 0.1 ns a byte for norms and 1 ns for the update
        self.assertAlmostEqual(rows["even", 1, "-"]["step_s"], 1 + 1.1e-9 * 256 * MIB, places=9)
        rate, half = 1e9 / 8 * 1448 / 1538, 128 * MIB
        slow = rows["even", 2, "1 Gbit/s, 1 ms"]["step_s"]
        self.assertAlmostEqual(slow, 1 + half * (1.35e-9 + 2 / rate) + 1e-3 * (4 + 64), places=5)
        self.assertGreater(rows["uneven", 64, "1 Gbit/s, 1 ms"]["step_s"], 2 * rows["even", 64, "1 Gbit/s, 1 ms"]["step_s"])
        for row in rows.values():
            self.assertAlmostEqual(row["compute"] + row["exchange"] + row["wait"], 1.0, places=9)

    def test_the_table_says_prediction(self):
        done = self.run_script("--check")
        self.assertEqual(done.stdout.count("prediction: "), 2)

    def test_counts_below_one_are_refused(self):
        done = self.run_script("--rounds", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("argument --rounds: '0' is no whole number of 1 or more", done.stderr)


if __name__ == "__main__":
    unittest.main()
