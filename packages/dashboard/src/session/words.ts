/** Words about what a role may do. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    notForRole: 'Your role does not include this.',
    actFirst: 'First press “Act for this tenant”, at the top of the page.',
  },
  {
    notForRole: 'Ihre Rolle schließt das nicht ein.',
    actFirst: 'Drücken Sie zuerst „Für diesen Mandanten handeln“, oben auf der Seite.',
  },
)
