import { describe, expect, it } from 'vitest'
import { welcome } from './welcome.ts'

const facts = {
  url: 'http://127.0.0.1:8080',
  inboundPort: undefined,
  roles: ['api', 'sender'],
  hasDashboard: true,
  dataDir: undefined,
  apiKey: undefined,
  hasTenant: true,
  setupUrl: undefined,
}

describe('the message at a start', () => {
  it('[contract 1] has the addresses, and at the first start a curl with the key to paste', () => {
    const text = welcome({ ...facts, apiKey: 'pr_first', dataDir: './.postrider' })
    expect(text).toContain('http://127.0.0.1:8080/docs')
    expect(text).toContain(
      "curl http://127.0.0.1:8080/v1/email/send \\\n  -H 'Authorization: Bearer pr_first'",
    )
    const bodies = [...text.matchAll(/-d '(.*)'/g)].map((match) => JSON.parse(match[1] ?? ''))
    expect(bodies).toHaveLength(3)
    expect(bodies[0]).toMatchObject({ event: 'EMAIL_EVENT', method: 'POST' })
    expect(bodies[2]).toMatchObject({ from: { email: bodies[1].email } })
  })

  it('[contract 7.1] has the link for the first user, while there is none', () => {
    const setupUrl = 'https://mail.example.com/app/setup#token'
    expect(welcome({ ...facts, setupUrl })).toContain(`  ${setupUrl}\n`)
    expect(welcome(facts)).not.toContain('/app/setup')
  })

  it('has the address of the dashboard, unless it is off', () => {
    expect(welcome(facts)).toContain('  Dashboard  http://127.0.0.1:8080/app/\n')
    expect(welcome({ ...facts, hasDashboard: false })).not.toContain('Dashboard')
  })

  it('has no key and no curl later, but says how to get another key', () => {
    expect(welcome(facts)).not.toMatch(/curl|pr_|tenant/)
    expect(welcome(facts)).toContain('npx postrider key create TENANT_ID')
  })

  it('has no address of the API where the API is not served', () => {
    const text = welcome({ ...facts, roles: ['dispatcher'] })
    expect(text).not.toMatch(/API|docs|openapi|key create/)
    expect(text).toContain('http://127.0.0.1:8080/readyz')
  })

  it('[contract 1] names the inbound port where mail is received', () => {
    expect(welcome(facts)).not.toContain('Inbound')
    expect(welcome({ ...facts, inboundPort: 2525 })).toMatch(/Inbound +SMTP on port 2525/)
  })

  it('says how to make the first tenant where there is none', () => {
    expect(welcome({ ...facts, hasTenant: false })).toContain('npx postrider tenant create')
  })
})
