import { expect, it } from 'vitest'
import { effectiveLimits } from './limits.ts'

const of = (host: string, username?: string, limits = {}) =>
  effectiveLimits({
    config: {
      host,
      port: 587,
      secure: 'Tls',
      tlsVerify: true,
      ...(username === undefined ? {} : { username }),
    },
    limits,
  })
const defaults = { connections: 5, messages_per_connection: 100 }

it.each([
  ['smtp.example.com', 'ada@gmail.com', defaults],
  ['smtp.gmail.com.example.com', undefined, defaults],
  ['smtp.gmail.com', 'ada@gmail.com', { ...defaults, per_day: 500 }],
  ['SMTP.Gmail.com.', 'ada@example.com', { ...defaults, per_day: 2_000 }],
  [
    'smtp.office365.com',
    'ada@example.com',
    { ...defaults, connections: 3, per_minute: 30, per_day: 10_000 },
  ],
  ['smtp-mail.outlook.com', undefined, { ...defaults, connections: 3, per_minute: 30 }],
  ['email-smtp.eu-west-1.amazonaws.com', 'AKIA', { ...defaults, connections: 10 }],
])('gives %s with the user %s the limits %j', (host, username, expected) => {
  expect(of(host, username)).toEqual(expected)
})

it('prefers each limit that the mailer sets itself', () => {
  expect(of('smtp.office365.com', 'ada@example.com', { per_minute: 300, connections: 1 })).toEqual({
    ...defaults,
    connections: 1,
    per_minute: 300,
    per_day: 10_000,
  })
})
