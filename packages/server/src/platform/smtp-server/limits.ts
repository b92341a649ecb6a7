/** How much of the listener one peer may take, and all of them together. */
export interface ListenerLimits {
  readonly connectionsMax: number
  /** Of one IPv4 address, or one IPv6 network of 64 bits. */
  readonly connectionsPerAddressMax: number
  /** Of all messages on their way in; nobody has more than is left for others. */
  readonly bytesInTransitMax: number
  readonly transactionsMax: number
  /** Commands that bring no mail nearer, between one message and the next. */
  readonly idleCommandsMax: number
  readonly badCommandsMax: number
  readonly refusedRecipientsMax: number
  /** From a command's answer to the end of the next. */
  readonly commandMsMax: number
  readonly handshakeMsMax: number
  /** From its beginning to its login, where it needs one. */
  readonly loginMsMax: number
  readonly dataMsMax: number
  /** Of DATA, measured after `dataRateAfterMs`. */
  readonly dataBytesPerSecondMin: number
  readonly dataRateAfterMs: number
  /** Message under way excepted. */
  readonly connectionMsMax: number
  /** Estimated CPU that a connection may cause at once, and in each second. Beyond it waits. */
  readonly workMicrosBurst: number
  readonly workMicrosPerSecond: number
  /** The same for the handshakes of one address, over all its connections. */
  readonly handshakeMicrosBurst: number
  readonly handshakeMicrosPerSecond: number
  readonly findRouteMsMax: number
  readonly storeMsMax: number
  /** How often it is looked after what takes too long. */
  readonly sweepMs: number
  /** For messages under way when the service ends. */
  readonly graceMs: number
}

/** Times are those of RFC 5321 §4.5.3.2 where it has them. */
export const listenerLimits: ListenerLimits = {
  connectionsMax: 1_000,
  connectionsPerAddressMax: 100,
  bytesInTransitMax: 256 * 1024 * 1024,
  transactionsMax: 200,
  idleCommandsMax: 100,
  badCommandsMax: 20,
  refusedRecipientsMax: 100,
  commandMsMax: 5 * 60_000,
  handshakeMsMax: 30_000,
  loginMsMax: 60_000,
  dataMsMax: 30 * 60_000,
  dataBytesPerSecondMin: 500,
  dataRateAfterMs: 60_000,
  connectionMsMax: 60 * 60_000,
  workMicrosBurst: 500_000,
  workMicrosPerSecond: 100_000,
  handshakeMicrosBurst: 400_000,
  handshakeMicrosPerSecond: 200_000,
  findRouteMsMax: 10_000,
  storeMsMax: 60_000,
  sweepMs: 1_000,
  graceMs: 10_000,
}
