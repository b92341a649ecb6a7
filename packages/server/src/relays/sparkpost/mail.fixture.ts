/** A mail and an account as sending has them. */
import type { RelayAccount, RelayAnswer, RelayMail } from '../relay.ts'

export const refId = '01K0000000000000000000000A'

export const account: RelayAccount = {
  tenantId: 'tn_01K00000000000000000000000',
  kind: 'sparkpost',
  apiKey: 'key-0123456789abcdef',
  apiBase: 'https://api.sparkpost.com/api',
  configVersion: 1,
}

export function aMail(change: Partial<RelayMail> = {}): RelayMail {
  return {
    refId,
    n: 0,
    from: { address: 'news@example.com', name: 'Example' },
    to: { address: 'Ann@example.net', name: 'Ann' },
    type: 'to',
    shown: { to: [{ address: 'Ann@example.net', name: 'Ann' }], cc: [] },
    subject: 'Hello',
    text: 'Hi',
    headers: [['Message-ID', '<1@example.com>']],
    attachments: [],
    ...change,
  }
}

export function anAnswer(
  status: number,
  body: unknown,
  headers: RelayAnswer['headers'] = {},
): RelayAnswer {
  return { status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

export const errors = (code: string | undefined, message: string, description?: string) => ({
  errors: [{ message, description, code }],
})
