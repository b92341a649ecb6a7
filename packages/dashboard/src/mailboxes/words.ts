/** Words of the screen of mailboxes. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    mailboxes: 'Mailboxes',
    lead: 'Mailboxes that are read: each new message becomes an event.',
    name: 'Name',
    address: 'Address',
    state: 'State',
    states: {
      waiting: 'Waits for its turn',
      watched: 'Read',
      failing: 'Cannot be read',
      stopped: 'Stopped',
    },
    folders: 'Folders',
    lastRead: 'Last read',
    failingSince: 'Failing since',
    lastError: 'Last error',
    none: 'none',
    noMailboxes: 'No mailbox is read',
    noMailboxesHelp:
      'A mailbox is read by IMAP. Each message that arrives is sent to your webhook, with its attachments.',
  },
  {
    mailboxes: 'Postfächer',
    lead: 'Postfächer, die gelesen werden: jede neue Nachricht wird zum Ereignis.',
    name: 'Name',
    address: 'Adresse',
    state: 'Zustand',
    states: {
      waiting: 'Wartet, bis es dran ist',
      watched: 'Wird gelesen',
      failing: 'Nicht lesbar',
      stopped: 'Angehalten',
    },
    folders: 'Ordner',
    lastRead: 'Zuletzt gelesen',
    failingSince: 'Nicht lesbar seit',
    lastError: 'Letzter Fehler',
    none: 'keiner',
    noMailboxes: 'Kein Postfach wird gelesen',
    noMailboxesHelp:
      'Ein Postfach wird über IMAP gelesen. Jede Nachricht, die ankommt, geht an Ihren Webhook, mit ihren Anhängen.',
  },
)
