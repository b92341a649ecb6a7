/** Words of the filters of audit logs. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    names: {
      operation: 'What',
      actor: 'Who',
      target: 'Of what',
      start: 'From',
      end: 'Until',
    },
    hints: {
      operation: 'Operation, such as updateTenant',
      actor: 'Id, operator or cli',
      target: 'Id or address',
    },
    none: 'none',
  },
  {
    names: {
      operation: 'Was',
      actor: 'Wer',
      target: 'Woran',
      start: 'Ab',
      end: 'Bis',
    },
    hints: {
      operation: 'Operation, etwa updateTenant',
      actor: 'Kennung, operator oder cli',
      target: 'Kennung oder Adresse',
    },
    none: 'keins',
  },
)
