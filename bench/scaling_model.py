"""The time of a data-parallel training step on N ranks, by arithmetic alone: no clock, no library.

What the ranks do is engine/group/collective.cpp and engine/runtime/sharded_step.cpp: owners are whole tensors (share_out), gradients are
added by recursive halving in buckets of at most 4 MiB, both ways at once, and parameters go the way back. Every rank has a clock of its
own here; an exchange begins for each of the two when it is there, and ends when what it waits for has come. The link is latency and rate,
both ways at once, from each rank to each other without a third in its way: a switch that is not the bottleneck.
"""

import dataclasses

BUCKET_ELEMENTS, LARGE_ELEMENTS, ELEMENT = 1 << 20, 16384, 4  # as Collective::Buckets; bytes of an f32
NUMBER = 8  # bytes of a count or a flag for all ranks


@dataclasses.dataclass(frozen=True)
class Tensors:
    """Elements of each gradient, in the order of the parameters, and of the running statistics of batch norms, which are summed behind
    them and have no norm."""

    gradients: list
    statistics: list = dataclasses.field(default_factory=list)

    def portions(self, ranks):
        """What is added, and its norms."""
        added = Portions(self.gradients + self.statistics, ranks)
        return added, Portions([1] * len(self.gradients) + [0] * len(self.statistics), ranks, added.owners)


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

    def buckets(self, mask, bits):
        """Bytes of each bucket of those."""
        key = mask, bits & mask
        if key not in self._cut:
            self._cut[key] = buckets(self.chosen(mask, bits))
        return self._cut[key]

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


class _Clocks:
    """Of all ranks; and how much of each rank's time was what."""

    def __init__(self, ranks, costs, link):
        self.ranks, self.costs, self.link = ranks, costs, link
        self.now, self.compute, self.wait = ([0.0] * ranks for _ in range(3))
        self.free = [0.0] * ranks  # when the last byte of a rank has left

    def works(self, rank, seconds):
        self.now[rank] += seconds
        self.compute[rank] += seconds

    def leaves(self, rank, size, work):
        """When the last of so many bytes has left: the link's rate, and not before the sender has had its work with them."""
        begin = max(self.now[rank], self.free[rank])
        rested = min(self.link.burst, (begin - self.free[rank]) * self.link.rate)
        self.free[rank] = max(begin + max(0.0, size - rested) / self.link.rate, self.now[rank] + work)
        return self.free[rank]

    def exchange(self, a, b, sent, received):
        """a sends and b receives `sent` bytes, and the other way round."""
        costs = self.costs
        work = {a: costs.call + costs.send * sent + costs.receive * received, b: costs.call + costs.send * received + costs.receive * sent}
        begin = {a: self.now[a], b: self.now[b]}
        left = {a: self.leaves(a, sent, work[a]), b: self.leaves(b, received, work[b])}
        for rank, peer in ((a, b), (b, a)):
            self.now[rank] = max(left[rank], left[peer] + self.link.seconds, begin[rank] + work[rank])
            self.wait[rank] += max(0.0, min(begin[peer], self.now[rank]) - begin[rank])

    def for_all(self, size):
        """A few numbers that all ranks have then."""
        for distance in levels(self.ranks):
            for rank in range(self.ranks):
                if rank < rank ^ distance:
                    self.exchange(rank, rank ^ distance, size, size)

    def add(self, portions):
        for distance in levels(self.ranks):
            for rank in range(self.ranks):
                peer = rank ^ distance
                for sent, received in portions.added(rank, peer, distance) if rank < peer else ():
                    self.exchange(rank, peer, sent, received)
                    self.works(rank, self.costs.add * received)
                    self.works(peer, self.costs.add * sent)

    def gather(self, portions):
        for distance in reversed(levels(self.ranks)):
            for rank in range(self.ranks):
                peer = rank ^ distance
                for sent, received in portions.gathered(rank, peer, distance) if rank < peer else ():
                    self.exchange(rank, peer, sent, received)


def step(tensors, ranks, costs, link):
    """The step of `ranks` ranks that train these tensors, each with `costs`."""
    portions, norms = tensors.portions(ranks)
    clocks = _Clocks(ranks, costs, link)
    clocks.for_all(NUMBER)  # the count of targets, and whether one of them was asked to stop
    clocks.for_all(NUMBER)
    for rank in range(ranks):
        clocks.works(rank, costs.compute)
    clocks.add(portions)
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
    """[(peer, bytes sent, bytes received)]: what a rank's transport is asked for in a step."""
    portions, norms = tensors.portions(ranks)

    def few(size):
        return [(rank ^ d, size, size) for d in levels(ranks)]

    def back(of):
        return [(rank ^ d, *pair) for d in reversed(levels(ranks)) for pair in of.gathered(rank, rank ^ d, d)]

    added = [(rank ^ d, *pair) for d in levels(ranks) for pair in portions.added(rank, rank ^ d, d)]
    return few(NUMBER) + few(NUMBER) + added + few(ELEMENT) + back(norms) + back(portions)


def transport_cost(tensors, ranks, costs, link, measured):
    """Costs whose step over `link` takes as long as was measured: the transport's work per byte, the same for one that is sent and one that
    is received. No less than nothing."""
    low, high = 0.0, 1e-6  # seconds per byte
    for _ in range(60):
        middle = (low + high) / 2
        tried = dataclasses.replace(costs, send=middle, receive=middle)
        low, high = (middle, high) if step(tensors, ranks, tried, link).seconds < measured else (low, middle)
    return dataclasses.replace(costs, send=low, receive=low)


def payload_rate(bits_per_second, frame=1538, payload=1448):
    """Bytes per second that TCP carries in frames of 1500 bytes; 38 of 1538 are Ethernet's, 52 are headers."""
    return bits_per_second / 8 * payload / frame
