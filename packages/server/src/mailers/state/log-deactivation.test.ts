import { expect, it } from 'vitest'
import { createLogger } from '../../platform/log.ts'
import { createNoteDeactivated } from './log-deactivation.ts'

it('logs one warning with mailer, reason and words, and counts it by reason', () => {
  const lines: string[] = []
  const counted: string[] = []
  const note = createNoteDeactivated({
    log: createLogger({ level: 'warn', destination: { write: (line) => lines.push(line) } }),
    observe: (reason) => counted.push(reason),
  })
  const evidence = '535 5.7.8 no'
  note({ tenantId: 'tn_a', mailerId: 'smtp_a', reason: 'provider_auth_error', evidence })
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 'warn',
      msg: 'mailer.deactivated',
      tenant_id: 'tn_a',
      mailer_id: 'smtp_a',
      reason: 'provider_auth_error',
      evidence,
    },
  ])
  expect(counted).toEqual(['provider_auth_error'])
})
