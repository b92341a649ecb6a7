/** Words of the test inbox. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    testInbox: 'Test inbox',
    lead: 'Mail of keys in test mode: it went to nobody. Do here what its recipients would do.',
    outcome: 'What came of it',
    simulate: 'Simulate',
    events: { open: 'Open', click: 'Click', bounce: 'Bounce', complaint: 'Complaint' },
    eventOf: (event: string, email: string) => `${event} by ${email}`,
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
    outcome: 'Was daraus wurde',
    simulate: 'Auslösen',
    events: { open: 'Öffnen', click: 'Klick', bounce: 'Bounce', complaint: 'Beschwerde' },
    eventOf: (event, email) => `${event} von ${email}`,
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
