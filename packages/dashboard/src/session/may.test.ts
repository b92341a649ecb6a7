import { describe, expect, it } from 'vitest'
import { mayCall } from './may.ts'

const as = (role: Parameters<typeof mayCall>[0]['role'], content = false) => ({ role, content })

describe('mayCall', () => {
  it('follows the role', () => {
    expect(mayCall(as('viewer'), 'getEmailLogs')).toBe(true)
    expect(mayCall(as('viewer'), 'sendEmail')).toBe(false)
    expect(mayCall(as('support'), 'retryEmails')).toBe(true)
    expect(mayCall(as('owner'), 'listTenants')).toBe(false)
  })

  it('asks for the permission to read content beside the role', () => {
    expect(mayCall(as('owner'), 'getRawEmail')).toBe(false)
    expect(mayCall(as('viewer', true), 'getRawEmail')).toBe(true)
  })

  it('opens to everybody with a session what the table does not name', () => {
    expect(mayCall(as('viewer'), 'getSession')).toBe(true)
  })
})
