/** The front door of mailboxes: what watches them, and what stores sent copies in them. */
export { createSentCopies } from './sent-copies/create-sent-copies.ts'
export { createMailboxes } from './watch/create-mailboxes.ts'
export { createMailboxJanitor } from './watch/janitor.ts'
export type { WokenMailbox } from './watch/mailbox-watchers.ts'
export { readMailboxHealth } from './watch/read-health.ts'
