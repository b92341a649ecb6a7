/**
 * Ports to which no HTTP request is made: the Fetch standard's "bad ports", which no browser
 * requests either, and those of widespread databases, caches and queues. A request is bytes that a
 * tenant chose in part; what listens there speaks another protocol and might act on them.
 */
const REFUSED: ReadonlySet<number> = new Set([
  // Fetch §2.9
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
  103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
  995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
  6669, 6679, 6697, 10080,
  // SQL Server, Oracle, MySQL, RDP, PostgreSQL, AMQP, Redis, Cassandra, Kafka, memcached, MongoDB
  1433, 1521, 3306, 3389, 5432, 5671, 5672, 6379, 6380, 9042, 9092, 11211, 27017,
]) // biome-ignore format: a table

/** The port of a URL, or its scheme's. */
export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
}

export function isRefusedPort(port: number): boolean {
  return REFUSED.has(port)
}
