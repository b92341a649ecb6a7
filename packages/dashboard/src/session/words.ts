/** Words about what a role may do. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    notForRole: 'Your role does not include this.',
    actFirst: 'First press “Act for this tenant”, at the top of the page.',
    closed: 'This page is closed to you',
    closedHelp: 'Your role does not include it. Whoever invited you can change your role.',
    toStart: 'To the start',
  },
  {
    notForRole: 'Ihre Rolle schließt das nicht ein.',
    actFirst: 'Drücken Sie zuerst „Für diesen Mandanten handeln“, oben auf der Seite.',
    closed: 'Diese Seite ist für Sie geschlossen',
    closedHelp:
      'Ihre Rolle schließt sie nicht ein. Wer Sie eingeladen hat, kann Ihre Rolle ändern.',
    toStart: 'Zum Anfang',
  },
)
