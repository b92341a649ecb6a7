/** The front door of inbound: for mail that comes by another way than SMTP. */
export { digestMessage } from './ingest/digest.ts'
export { storeMailboxMail } from './ingest/store-mail.ts'
export { isInboundDayQueued } from './process/queue-store.ts'
export { searchInboundDomains, searchInboundMessages } from './search-store.ts'
