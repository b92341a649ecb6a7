/** Words of the live page. */
import { defineWords, plural } from '../words/define-words.ts'

export const words = defineWords(
  {
    live: 'Live',
    lead: 'Events as they are committed: none is missed, none comes twice.',
    states: {
      connecting: 'Connecting',
      live: 'Live',
      reconnecting: 'Connection lost, trying again',
      polling: 'No stream: asked for each 10 seconds',
      paused: 'Paused',
    },
    pause: 'Pause',
    goOn: 'Go on',
    waiting: (n: number, shown: string) => `${shown} new ${plural(n, 'event', 'events')}`,
    bounded: (shown: string) => `Only the newest ${shown} are kept while it is paused.`,
    gap: (shown: string) =>
      `${shown} events were left out, because they came faster than they were read.`,
    gapUnknown: 'Some events were left out. The list of an email has all of them.',
    event: 'Event',
    allEvents: 'All events',
    email: 'Address, then Enter',
    recipient: 'Recipient',
    nothing: 'No event yet',
    nothingHelp: 'As soon as something happens to a mail, it is here.',
    json: 'As a webhook gets it',
    choose: 'Choose an event to see it exactly as a webhook gets it.',
    openEmail: 'Open the email',
  },
  {
    live: 'Live',
    lead: 'Ereignisse, sobald sie feststehen: keines fehlt, keines kommt zweimal.',
    states: {
      connecting: 'Verbindet',
      live: 'Live',
      reconnecting: 'Verbindung verloren, neuer Versuch',
      polling: 'Kein Strom: alle 10 Sekunden nachgefragt',
      paused: 'Angehalten',
    },
    pause: 'Anhalten',
    goOn: 'Weiter',
    waiting: (n, shown) => `${shown} ${plural(n, 'neues Ereignis', 'neue Ereignisse')}`,
    bounded: (shown) => `Solange angehalten ist, werden nur die neuesten ${shown} aufbewahrt.`,
    gap: (shown) =>
      `${shown} Ereignisse fehlen hier, weil sie schneller kamen, als sie gelesen wurden.`,
    gapUnknown: 'Einige Ereignisse fehlen hier. Bei der E-Mail stehen alle.',
    event: 'Ereignis',
    allEvents: 'Alle Ereignisse',
    email: 'Adresse, dann Enter',
    recipient: 'Empfänger',
    nothing: 'Noch kein Ereignis',
    nothingHelp: 'Sobald mit einer Mail etwas geschieht, steht es hier.',
    json: 'So erhält es ein Webhook',
    choose: 'Wählen Sie ein Ereignis, um es genau so zu sehen, wie ein Webhook es erhält.',
    openEmail: 'E-Mail öffnen',
  },
)
