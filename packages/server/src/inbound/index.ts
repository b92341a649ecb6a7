/** The front door of inbound: for mail that comes by another way than SMTP. */
export { digestMessage } from './ingest/digest.ts'
export { storeReceived } from './ingest/store-received.ts'
export { isInboundDayQueued } from './process/queue-store.ts'
