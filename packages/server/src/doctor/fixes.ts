/** What to do about each check of `postrider doctor` that is not `ok`. */
import type { Finding } from './examine-work.ts'

export const fixes: Readonly<Record<string, string>> = {
  node: 'Install Node.js 22.19 or later.',
  configuration: 'Correct the variable that the detail names; docs/config.md lists all variables.',
  secrets: 'Put secrets.json back from the backup before the next start.',
  'address guard': 'Name only the private networks that are needed in POSTRIDER_ALLOW_NETWORKS.',
  'data directory':
    'Do what the detail says: the service needs the directory, and no other user may read its files.',
  disk: 'Free some disk space, or shorten POSTRIDER_RETENTION.',
  hits: 'Run a process with the role tracker and this POSTRIDER_DATA_DIR; look at files that are set aside, then remove them.',
  'helo name': 'Set POSTRIDER_HELO_NAME to a full name whose address leads back to that name.',
  sending: 'Remove POSTRIDER_SENDING from every process when this copy is to send.',
  'inbound host': 'Set POSTRIDER_INBOUND_HOST to a name that has an address.',
  database: 'Check POSTRIDER_DATABASE_URL, and that PostgreSQL 15 or later runs and answers.',
  durability: 'Set fsync, synchronous_commit and full_page_writes to on in PostgreSQL.',
  migrations: 'Run postrider migrate, or start the service.',
  'sealed secrets': 'Add the missing key to POSTRIDER_SECRET_KEYS; see docs/operations/secrets.md.',
  sender: 'Start a process with the role sender on this database.',
  dispatcher: 'Start a process with the role dispatcher on this database.',
  mailbox: 'Start a process with the role mailbox on this database.',
  webhooks: 'Run postrider webhook list --failing, and tell the owners of the receivers.',
  'parked events':
    'Run postrider webhook list; the receivers refuse single events, and their owners can see why.',
  'given-up events': 'When the receiver works again, run postrider webhook replay --undelivered.',
  'webhook backlog': 'Start another process with the role dispatcher, or look for a slow database.',
  callbacks: 'Start a process with the role tracker; see docs/operations/troubleshoot.md.',
  'day partitions': 'Look in the log of a running service for day_partitions.failed.',
  retention: 'Start a process with the role janitor, and end what reads or holds the oldest day.',
  'content retention':
    'Start a process with the role janitor, and end what reads or holds the oldest day of content.',
  'send queue':
    'Run postrider mailer list, then postrider mailer test for the mailer that is late.',
  retries: 'Run postrider mailer list, then postrider mailer test for the mailer that fails.',
}

/** Null when nothing is wrong. */
export function fixOf({ check, state }: Pick<Finding, 'check' | 'state'>): string | null {
  return state === 'ok' ? null : (fixes[check] ?? null)
}
