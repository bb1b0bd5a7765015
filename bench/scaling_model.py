"""The time of a data-parallel training step on N ranks, by arithmetic alone: no clock, no library.

What the ranks do is engine/group/collective.cpp, engine/runtime/gradient_exchange.cpp and engine/runtime/sharded_step.cpp: owners are whole
tensors (share_out), gradients are added by recursive halving in buckets of at most 4 MiB, both ways at once, from the last tensor to the
first, and parameters go the way back. A transport that may be used by a thread of its own sends the first level beside the backward pass,
each bucket when it has been made. Every rank has a clock of its own here; an exchange begins for each of the two when it is there, and ends
when what it waits for has come. The link is latency and rate, both ways at once, from each rank to each other without a third in its way: a
switch that is not the bottleneck.
"""

import dataclasses

BUCKET_ELEMENTS, LARGE_ELEMENTS, ELEMENT = 1 << 20, 16384, 4  # as Collective::Buckets; bytes of an f32
NUMBER = 8  # bytes of a count or a flag for all ranks


@dataclasses.dataclass(frozen=True)
class Tensors:
    """Elements of each gradient, in the order of the parameters, and behind them of the running statistics of batch norms, which have no
    norm. order: their numbers, as the backward pass makes them, which is the order in which they go; None: from the last one."""

    gradients: list
    statistics: list = dataclasses.field(default_factory=list)
    order: list = None

    def in_order(self, values):
        """One value of each tensor, as they go."""
        return [values[i] for i in self.order] if self.order is not None else values[::-1]

    def portions(self, ranks):
        """What is added, in that order; its norms, and the parameters, in theirs."""
        elements = self.gradients + self.statistics
        parameters = Portions(elements, ranks)
        norms = Portions([1] * len(self.gradients) + [0] * len(self.statistics), ranks, parameters.owners)
        return Portions(self.in_order(elements), ranks, self.in_order(parameters.owners)), norms, parameters


@dataclasses.dataclass(frozen=True)
class Link:
    """seconds: one way, from the last byte that leaves to the same byte that is there. rate: bytes of the payload per second, each way.
    burst: bytes that a link which has rested passes at once, as those do whose rate is shaped; a real one has none."""

    seconds: float
    rate: float
    burst: float = 0.0


@dataclasses.dataclass(frozen=True)
class Costs:
    """What was measured of one rank. Seconds; per byte of gradients and parameters where it says so."""

    compute: float              # forward and backward passes of a rank's shards
    add: float                  # per byte received: the sum with what the rank has
    norms: float                # per byte of gradients that it owns: square sums
    update: float               # per byte of parameters that it owns: norm, clipping, moments, update
    send: float                 # per byte sent and
    receive: float              # per byte received: the transport's and the system's work, checksums with it
    call: float = 0.0           # an exchange beside what its bytes cost


@dataclasses.dataclass(frozen=True)
class Step:
    """seconds: until the last rank is through. Of them, the mean of the ranks: compute, exchange (bytes on their way), wait (for a peer that
    is not there yet, at the end for the last one); they add up."""

    seconds: float
    compute: float
    exchange: float
    wait: float


def share_out(elements, ranks):
    """The owner of each portion: the largest first, to the rank that has least."""
    loads, owners = [0] * ranks, [0] * len(elements)
    for portion in sorted(range(len(elements)), key=lambda i: (-elements[i], i)):
        least = loads.index(min(loads))
        loads[least] += elements[portion]
        owners[portion] = least
    return owners


def slices(elements):
    """The buckets into which portions of so many elements are cut, one after the other: lists of (portion, first element, elements)."""
    made, portion, first = [], 0, 0

    def left():
        return elements[portion] - first

    while portion < len(elements):
        if left() >= LARGE_ELEMENTS:
            bucket = [(portion, first, min(left(), BUCKET_ELEMENTS))]
            first += bucket[0][2]
            if left() == 0:
                portion, first = portion + 1, 0
        else:
            bucket, room = [], BUCKET_ELEMENTS
            while portion < len(elements) and left() < LARGE_ELEMENTS and left() <= room:
                if left():
                    bucket.append((portion, first, left()))
                room -= left()
                portion, first = portion + 1, 0
        if bucket:
            made.append(bucket)
    return made


def buckets(elements):
    """Bytes of each."""
    return [ELEMENT * sum(count for _, _, count in bucket) for bucket in slices(elements)]


class Portions:
    """Tensors and the ranks that own them."""

    def __init__(self, elements, ranks, owners=None):
        self.elements, self.ranks = elements, ranks
        self.owners = share_out(elements, ranks) if owners is None else owners
        self._cut = {}

    def owned(self, rank):
        """Bytes."""
        return ELEMENT * sum(count for count, owner in zip(self.elements, self.owners) if owner == rank)

    def chosen(self, mask, bits):
        """Elements of the portions whose owners end in those bits, none of the others."""
        return [count if owner & mask == bits & mask else 0 for count, owner in zip(self.elements, self.owners)]

    def cut(self, mask, bits):
        """(bytes, portions from the first one on that have them and those before) of each bucket of those."""
        key = mask, bits & mask
        if key not in self._cut:
            self._cut[key] = [(ELEMENT * sum(count for _, _, count in bucket), bucket[-1][0] + 1) for bucket in slices(self.chosen(mask, bits))]
        return self._cut[key]

    def buckets(self, mask, bits):
        return [size for size, _ in self.cut(mask, bits)]

    def needed(self, rank, peer):
        """How many portions have to be there for each exchange of the first level."""
        sent, received = ([through for _, through in self.cut(1, bits)] for bits in (peer, rank))
        return [max(pair) for pair in pairs(sent, received)]

    def added(self, rank, peer, distance):
        """(bytes sent, bytes received) of each exchange of a level of the sum."""
        mask = 2 * distance - 1
        return pairs(self.buckets(mask, peer), self.buckets(mask, rank))

    def gathered(self, rank, peer, distance):
        """The same on the way back."""
        mask = 2 * distance - 1
        return pairs(self.buckets(mask, rank), self.buckets(mask, peer))


def pairs(sent, received):
    count = max(len(sent), len(received))
    return list(zip(sent + [0] * (count - len(sent)), received + [0] * (count - len(received))))


def levels(ranks):
    """1, 2, 4 ... below the number of ranks."""
    return [1 << level for level in range(ranks.bit_length() - 1)]


class _Pass:
    """Forward and backward pass of a rank, beside which it sends: what that takes of the cores, the pass takes longer."""

    def __init__(self, begin, seconds, share):
        self.begin, self.seconds, self.share, self.lent = begin, seconds, share, 0.0

    @property
    def end(self):
        return self.begin + self.seconds + self.lent

    def at(self, part):
        return self.begin + part * self.seconds + self.lent if part < 1 else self.end

    def lends(self, now, seconds):
        self.lent += self.share * min(seconds, max(0.0, self.end - now))


class _Clocks:
    """Of all ranks; and how much of each rank's time was what."""

    def __init__(self, ranks, costs, link):
        self.ranks, self.costs, self.link = ranks, costs, link
        self.now, self.compute, self.wait = ([0.0] * ranks for _ in range(3))
        self.free = [0.0] * ranks  # when the last byte of a rank has left
        self.saved = [link.burst] * ranks  # of the burst
        self.passes = [None] * ranks  # while something is sent beside it

    def works(self, rank, seconds):
        self.now[rank] += seconds
        self.compute[rank] += seconds

    def leaves(self, rank, size, work):
        """When the last of so many bytes has left: the link's rate, and not before the sender has had its work with them."""
        begin = max(self.now[rank], self.free[rank])
        saved = min(self.link.burst, self.saved[rank] + (begin - self.free[rank]) * self.link.rate)
        self.saved[rank] = max(0.0, saved - size)
        self.free[rank] = max(begin + max(0.0, size - saved) / self.link.rate, self.now[rank] + work)
        return self.free[rank]

    def exchange(self, a, b, sent, received):
        """a sends and b receives `sent` bytes, and the other way round."""
        costs = self.costs
        work = {a: costs.call + costs.send * sent + costs.receive * received, b: costs.call + costs.send * received + costs.receive * sent}
        begin = {a: self.now[a], b: self.now[b]}
        left = {a: self.leaves(a, sent, work[a]), b: self.leaves(b, received, work[b])}
        for rank, peer in ((a, b), (b, a)):
            self.now[rank] = max(left[rank], left[peer] + self.link.seconds, begin[rank] + work[rank])
            beside = self.passes[rank]
            if beside:
                beside.lends(begin[rank], work[rank])
            waits_from = max(begin[rank], beside.end) if beside else begin[rank]
            self.wait[rank] += max(0.0, min(begin[peer], self.now[rank]) - waits_from)

    def for_all(self, size):
        """A few numbers that all ranks have then."""
        for distance in levels(self.ranks):
            for rank in range(self.ranks):
                if rank < rank ^ distance:
                    self.exchange(rank, rank ^ distance, size, size)

    def adds(self, rank, size):
        """So many bytes to what the rank has."""
        seconds, beside = self.costs.add * size, self.passes[rank]
        if beside:
            beside.lends(self.now[rank], seconds)
            self.now[rank] += seconds
        else:
            self.works(rank, seconds)

    def add(self, portions, made, share):
        """The pass of all ranks, and the sums. made: for each portion the part of the pass behind which it is there; None: they go when
        all are. share: of the work beside the pass, what the pass takes longer for it."""
        begin, seconds = list(self.now), self.costs.compute
        if made is None:
            for rank in range(self.ranks):
                self.works(rank, seconds)
        else:
            self.passes = [_Pass(now, seconds, share) for now in self.now]
            made = [max(made[:count]) for count in range(1, len(made) + 1)]  # they go one after the other
        self.for_each_level(portions, made)
        for rank in range(self.ranks) if made is not None else ():
            end = self.passes[rank].end
            self.compute[rank] += end - begin[rank]
            self.now[rank] = max(self.now[rank], end)
        self.passes = [None] * self.ranks

    def for_each_level(self, portions, made):
        for distance in levels(self.ranks):
            needed = {rank: portions.needed(rank, rank ^ 1) for rank in range(self.ranks)} if made and distance == 1 else {}
            if distance == 1:
                for rank, counts in needed.items():
                    self.now[rank] = self.passes[rank].at(made[counts[0] - 1]) if counts else self.now[rank]
                self.for_all(0)
            for rank in range(self.ranks):
                peer = rank ^ distance
                for number, (sent, received) in enumerate(portions.added(rank, peer, distance) if rank < peer else ()):
                    for one in (rank, peer) if needed else ():
                        self.now[one] = max(self.now[one], self.passes[one].at(made[needed[one][number] - 1]))
                    self.exchange(rank, peer, sent, received)
                    self.adds(rank, received)
                    self.adds(peer, sent)

    def gather(self, portions):
        for distance in reversed(levels(self.ranks)):
            for rank in range(self.ranks):
                peer = rank ^ distance
                for sent, received in portions.gathered(rank, peer, distance) if rank < peer else ():
                    self.exchange(rank, peer, sent, received)


def step(tensors, ranks, costs, link, made=None, share=1.0):
    """The step of `ranks` ranks that train these tensors, each with `costs`. made: for each of the gradients and then of the statistics,
    behind which part of forward and backward pass it is there, where they are sent beside it."""
    added, norms, portions = tensors.portions(ranks)
    clocks = _Clocks(ranks, costs, link)
    clocks.for_all(NUMBER)  # the count of targets, and whether one of them was asked to stop
    clocks.for_all(NUMBER)
    clocks.add(added, None if made is None or ranks == 1 else tensors.in_order(made), share)
    clocks.for_all(ELEMENT)  # the loss
    for rank in range(ranks):
        clocks.works(rank, costs.norms * portions.owned(rank))
    clocks.gather(norms)
    for rank in range(ranks):
        clocks.works(rank, costs.update * portions.owned(rank))
    clocks.gather(portions)
    seconds = max(clocks.now)
    compute = sum(clocks.compute) / ranks
    wait = sum(waited + seconds - now for waited, now in zip(clocks.wait, clocks.now)) / ranks
    return Step(seconds, compute, seconds - compute - wait, wait)


def messages(tensors, ranks, rank):
    """What a rank's transport is asked for in a step: lists of (peer, bytes sent, bytes received), of counts and stops, of meeting before the
    sums, of the sums, the loss, the norms and the parameters."""
    added, norms, parameters = tensors.portions(ranks)

    def few(size):
        return [(rank ^ d, size, size) for d in levels(ranks)]

    def back(of):
        return [(rank ^ d, *pair) for d in reversed(levels(ranks)) for pair in of.gathered(rank, rank ^ d, d)]

    sums = [(rank ^ d, *pair) for d in levels(ranks) for pair in added.added(rank, rank ^ d, d)]
    return few(NUMBER) + few(NUMBER), few(0), sums, few(ELEMENT), back(norms), back(parameters)


def transport_cost(tensors, ranks, costs, link, measured, made=None, share=1.0):
    """Costs whose step over `link` takes as long as was measured: the transport's work per byte, the same for one that is sent and one that
    is received. No less than nothing."""
    low, high = 0.0, 1e-6  # seconds per byte
    for _ in range(60):
        middle = (low + high) / 2
        tried = dataclasses.replace(costs, send=middle, receive=middle)
        low, high = (middle, high) if step(tensors, ranks, tried, link, made, share).seconds < measured else (low, middle)
    return dataclasses.replace(costs, send=low, receive=low)


def payload_rate(bits_per_second, frame=1538, payload=1448):
    """Bytes per second that TCP carries in frames of 1500 bytes; 38 of 1538 are Ethernet's, 52 are headers."""
    return bits_per_second / 8 * payload / frame
