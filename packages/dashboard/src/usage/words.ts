/** Words of quotas and their usage: for the tenant, and for the operator. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    usage: 'Usage and quotas',
    usageNote: 'Beyond a quota, sending is refused with 429 until there is room again.',
    noQuota: 'no quota',
    ofQuota: (used: string, max: string, share: string) => `${used} of ${max} (${share})`,
    atMost: (max: string) => `at most ${max}`,
    quotaNames: {
      emails_per_day: 'Recipients today (UTC)',
      queued_max: 'Recipients that wait',
      storage_bytes_max: 'Stored emails',
      emails_per_second: 'Recipients in a second',
    },
    nearness: { near: 'Near its quota', reached: 'Quota reached' },
    left: {
      emails_per_day: (left: string) => `${left} more are accepted until midnight (UTC).`,
      queued_max: (left: string) => `${left} more are accepted until some of them have been sent.`,
      storage_bytes_max: (left: string) =>
        `${left} more are stored until the oldest day is removed.`,
    },
    reached: {
      emails_per_day: 'New mail is refused until midnight (UTC).',
      queued_max: 'New mail is refused until some of them have been sent or cancelled.',
      storage_bytes_max: 'New mail is refused until the oldest day is removed.',
    },
    lists: {
      emails_per_day: 'Show the emails of today',
      queued_max: 'Show what waits:',
      storage_bytes_max: 'Show the emails',
    },
    problem: 'Quota',
    nearTitle: {
      emails_per_day: 'The quota of recipients a day is nearly used',
      queued_max: 'The quota of recipients that wait is nearly used',
      storage_bytes_max: 'The quota of stored emails is nearly used',
    },
    reachedTitle: {
      emails_per_day: 'The quota of recipients a day is used up',
      queued_max: 'The quota of recipients that wait is used up',
      storage_bytes_max: 'The quota of stored emails is used up',
    },
    whoSets: 'The operator of this service sets the quotas.',
  },
  {
    usage: 'Verbrauch und Kontingente',
    usageNote:
      'Ist ein Kontingent verbraucht, wird Senden mit 429 abgelehnt, bis wieder Platz ist.',
    noQuota: 'kein Kontingent',
    ofQuota: (used, max, share) => `${used} von ${max} (${share})`,
    atMost: (max) => `höchstens ${max}`,
    quotaNames: {
      emails_per_day: 'Empfänger heute (UTC)',
      queued_max: 'Wartende Empfänger',
      storage_bytes_max: 'Gespeicherte E-Mails',
      emails_per_second: 'Empfänger je Sekunde',
    },
    nearness: { near: 'Nahe am Kontingent', reached: 'Kontingent verbraucht' },
    left: {
      emails_per_day: (left) => `Bis Mitternacht (UTC) werden noch ${left} angenommen.`,
      queued_max: (left) => `Noch ${left} werden angenommen, bis einige davon gesendet sind.`,
      storage_bytes_max: (left) =>
        `Noch ${left} werden gespeichert, bis der älteste Tag entfernt ist.`,
    },
    reached: {
      emails_per_day: 'Neue Mail wird bis Mitternacht (UTC) abgelehnt.',
      queued_max: 'Neue Mail wird abgelehnt, bis einige davon gesendet oder storniert sind.',
      storage_bytes_max: 'Neue Mail wird abgelehnt, bis der älteste Tag entfernt ist.',
    },
    lists: {
      emails_per_day: 'E-Mails von heute zeigen',
      queued_max: 'Zeigen, was wartet:',
      storage_bytes_max: 'E-Mails zeigen',
    },
    problem: 'Kontingent',
    nearTitle: {
      emails_per_day: 'Das Kontingent für Empfänger am Tag ist fast verbraucht',
      queued_max: 'Das Kontingent für wartende Empfänger ist fast verbraucht',
      storage_bytes_max: 'Das Kontingent für gespeicherte E-Mails ist fast verbraucht',
    },
    reachedTitle: {
      emails_per_day: 'Das Kontingent für Empfänger am Tag ist verbraucht',
      queued_max: 'Das Kontingent für wartende Empfänger ist verbraucht',
      storage_bytes_max: 'Das Kontingent für gespeicherte E-Mails ist verbraucht',
    },
    whoSets: 'Wer den Dienst betreibt, setzt die Kontingente.',
  },
)
