import { describe, expect, it } from 'vitest'
import { commandOf, welcome } from './welcome.ts'

const facts = {
  url: 'http://127.0.0.1:8080',
  inboundPort: undefined,
  submissionPorts: [],
  roles: ['api', 'sender'],
  hasDashboard: true,
  dataDir: undefined,
  apiKey: undefined,
  hasTenant: true,
  setupUrl: undefined,
  command: 'npx postrider',
}

describe('the message at a start', () => {
  it('[contract 1] has the addresses, and at the first start a curl with the key to paste', () => {
    const text = welcome({ ...facts, apiKey: 'pr_first', dataDir: './.postrider' })
    expect(text).toContain('http://127.0.0.1:8080/docs')
    expect(text).toContain(
      "curl http://127.0.0.1:8080/v1/email/send \\\n  -H 'Authorization: Bearer pr_first'",
    )
    const bodies = [...text.matchAll(/-d '(.*)'/g)].map((match) => JSON.parse(match[1] ?? ''))
    expect(bodies).toHaveLength(2)
    expect(bodies[1]).toMatchObject({ from: { email: bodies[0].email } })
  })

  it('[contract 7.1] has the link for the first user, while there is none', () => {
    const setupUrl = 'https://mail.example.com/app/setup#token'
    expect(welcome({ ...facts, setupUrl })).toContain(`  ${setupUrl}\n`)
    // A person at a terminal sees the end of it.
    const text = welcome({ ...facts, setupUrl, apiKey: 'pr_first' })
    expect(text.indexOf(setupUrl)).toBeGreaterThan(text.lastIndexOf('pr_first'))
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

  it('names the ports of submission where programs may hand in mail', () => {
    expect(welcome(facts)).not.toContain('Submission')
    const text = welcome({ ...facts, submissionPorts: [587, 465] })
    expect(text).toContain('  Submission SMTP for programs on port 587 and 465: an API key')
  })

  it('says how to make the first tenant where there is none', () => {
    expect(welcome({ ...facts, hasTenant: false })).toContain('npx postrider tenant create')
  })

  it('names the commands as they are called where it was started', () => {
    expect(commandOf({ npm_command: 'exec' })).toBe('npx postrider')
    const text = welcome({ ...facts, command: commandOf({}), setupUrl: 'https://a.test/setup' })
    expect(text).toContain(' postrider key create TENANT_ID')
    expect(text).toContain(' postrider user invite')
    expect(text).not.toContain('npx')
  })
})
