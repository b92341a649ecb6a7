/** Words of the test inbox. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    testInbox: 'Test inbox',
    lead: 'Mail of keys in test mode: it went to nobody. Do here what its recipients would do.',
    recipient: 'Recipient',
    subject: 'Subject',
    outcome: 'What came of it',
    accepted: 'Accepted',
    does: 'The recipient',
    events: { open: 'Opens', click: 'Clicks', bounce: 'Bounces', complaint: 'Complains' },
    eventsOf: {
      open: (email: string) => `${email} opens it`,
      click: (email: string) => `${email} clicks its first link`,
      bounce: (email: string) => `${email} does not exist: it bounces`,
      complaint: (email: string) => `${email} reports it as spam`,
    },
    done: {
      open: 'Opened. The event follows.',
      click: 'Clicked. The event follows.',
      bounce: 'Bounced. The event follows.',
      complaint: 'Reported as spam. The event follows.',
    },
    notDelivered: 'Only delivered mail gets events.',
    noMail: 'No test mail yet',
    noMailHelp:
      'A key of mode Test is for development and continuous integration: its mail is checked, recorded and reported as any other, and sent to nobody. It lands here.',
    createKey: 'Create a test key',
    all: 'All of it among the emails',
  },
  {
    testInbox: 'Testeingang',
    lead: 'Mails von Schlüsseln im Testmodus: Sie gingen an niemanden. Tun Sie hier, was ihre Empfänger tun würden.',
    recipient: 'Empfänger',
    subject: 'Betreff',
    outcome: 'Was daraus wurde',
    accepted: 'Angenommen',
    does: 'Der Empfänger',
    events: { open: 'öffnet', click: 'klickt', bounce: 'fehlt', complaint: 'beschwert sich' },
    eventsOf: {
      open: (email) => `${email} öffnet sie`,
      click: (email) => `${email} klickt ihren ersten Link`,
      bounce: (email) => `${email} gibt es nicht: sie kommt zurück`,
      complaint: (email) => `${email} meldet sie als Spam`,
    },
    done: {
      open: 'Geöffnet. Das Ereignis folgt.',
      click: 'Geklickt. Das Ereignis folgt.',
      bounce: 'Zurückgekommen. Das Ereignis folgt.',
      complaint: 'Als Spam gemeldet. Das Ereignis folgt.',
    },
    notDelivered: 'Nur bei zugestellten Mails geschieht etwas.',
    noMail: 'Noch keine Testmail',
    noMailHelp:
      'Ein Schlüssel im Modus Test ist für Entwicklung und Continuous Integration: Seine Mails werden wie andere geprüft, aufgezeichnet und gemeldet, und an niemanden gesendet. Sie landen hier.',
    createKey: 'Testschlüssel erzeugen',
    all: 'Alle unter den E-Mails',
  },
)
