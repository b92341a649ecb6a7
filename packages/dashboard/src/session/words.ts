/** Words about what a role may do. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    notForRole: 'Your role does not include this.',
    actFirst: 'First press “Act for this tenant”, at the top of the page.',
    closed: 'This page is closed to you',
    closedHelp: 'Your role does not include it. Whoever invited you can change your role.',
    toStart: 'To the start',
    needsScope: (scope: string) => `As a program, with a key that has the scope “${scope}”.`,
    needsKey: {
      all: 'As a program, with a key that may do everything.',
      test: 'As a program, with a test key.',
    },
    needsToken: 'As a program, with the token of the operator.',
    makeKey: 'Create such a key',
    ownHost: (host: string) =>
      `Put a server of your own in place of ${host}: it has to be reachable.`,
  },
  {
    notForRole: 'Ihre Rolle schließt das nicht ein.',
    actFirst: 'Drücken Sie zuerst „Für diesen Mandanten handeln“, oben auf der Seite.',
    closed: 'Diese Seite ist für Sie geschlossen',
    closedHelp:
      'Ihre Rolle schließt sie nicht ein. Wer Sie eingeladen hat, kann Ihre Rolle ändern.',
    toStart: 'Zum Anfang',
    needsScope: (scope) => `Als Programm, mit einem Schlüssel, der das Recht „${scope}“ hat.`,
    needsKey: {
      all: 'Als Programm, mit einem Schlüssel, der alles darf.',
      test: 'Als Programm, mit einem Testschlüssel.',
    },
    needsToken: 'Als Programm, mit dem Token des Betreibers.',
    makeKey: 'So einen Schlüssel erzeugen',
    ownHost: (host) =>
      `Setzen Sie einen eigenen Server anstelle von ${host} ein: er muss erreichbar sein.`,
  },
)
