/** Words of the screen of phishing protection. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    protection: 'Protection',
    lead: 'Mail that looks like phishing is stopped before it is sent.',
    enabled: 'Check mail before it is sent',
    threshold: 'Stop at a score of',
    thresholdHelp: 'From 1 to 100. Ordinary mail stays below 60.',
    blocked: 'Blocked domains',
    blockedHelp:
      'One a line. Mail that names one of them, or a name below it, is stopped whatever its score.',
    save: 'Save',
    saved: 'Saved.',
    updated: 'Last changed',
    stopped: 'Stopped mail',
    stoppedHelp: 'Each with the signs that were found.',
    showStopped: 'Show stopped mail',
    signs: 'Signs',
    noStopped: 'Nothing was stopped',
    noStoppedHelp:
      'Mail that looks like phishing would be here, with the signs that were found. The rules are set above, or by a program.',
    showEmails: 'Show all mail',
  },
  {
    protection: 'Schutz',
    lead: 'Mails, die nach Phishing aussehen, werden vor dem Senden angehalten.',
    enabled: 'Mails vor dem Senden prüfen',
    threshold: 'Anhalten ab dem Wert',
    thresholdHelp: 'Von 1 bis 100. Gewöhnliche Mails bleiben unter 60.',
    blocked: 'Gesperrte Domains',
    blockedHelp:
      'Eine je Zeile. Mails, die eine davon oder einen Namen darunter nennen, werden bei jedem Wert angehalten.',
    save: 'Speichern',
    saved: 'Gespeichert.',
    updated: 'Zuletzt geändert',
    stopped: 'Angehaltene Mails',
    stoppedHelp: 'Jede mit den gefundenen Zeichen.',
    showStopped: 'Angehaltene Mails zeigen',
    signs: 'Zeichen',
    noStopped: 'Nichts wurde angehalten',
    noStoppedHelp:
      'Hier stünden Mails, die nach Phishing aussehen, mit den gefundenen Zeichen. Die Regeln stehen oben, oder ein Programm setzt sie.',
    showEmails: 'Alle Mails zeigen',
  },
)
