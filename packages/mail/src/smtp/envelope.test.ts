import { describe, expect, it } from 'vitest'
import { mail } from '../../test/smtp-loopback.ts'
import { NO_CAPABILITIES, readCapabilities } from './capabilities.ts'
import { envelopeOf } from './envelope.ts'
import type { SendOptions } from './session.ts'

const offering = (...lines: string[]) =>
  readCapabilities(['250-mx.test', ...lines.map((line) => `250-${line}`)])
const ALL = offering('SIZE 1000', '8BITMIME', 'SMTPUTF8', 'DSN', 'PIPELINING')
const eightBit = Buffer.from('Subject: ä\r\n\r\n')
const sevenBit = Buffer.from('Subject: a\r\n\r\n')

function commands(more: Partial<SendOptions>, offered = ALL): readonly string[] {
  const envelope = envelopeOf(mail({ message: sevenBit, ...more }), offered)
  return 'stage' in envelope ? [`${envelope.systemCode}`] : [envelope.mail, envelope.rcpt]
}

describe('the parameters of MAIL and RCPT', () => {
  it('are the needed ones that the server offers', () => {
    expect(commands({})).toEqual([
      'MAIL FROM:<shop@example.com> SIZE=14',
      'RCPT TO:<ann@receiver.test>',
    ])
    expect(commands({ message: eightBit, smtpUtf8: true })[0]).toBe(
      'MAIL FROM:<shop@example.com> SIZE=15 BODY=8BITMIME SMTPUTF8',
    )
    expect(commands({}, NO_CAPABILITIES)[0]).toBe('MAIL FROM:<shop@example.com>')
    expect(commands({ from: '' })[0]).toBe('MAIL FROM:<> SIZE=14')
  })

  it('declare the size also where no limit is named', () => {
    for (const size of ['SIZE', 'SIZE 0', 'size'])
      expect(commands({}, offering(size))[0]).toContain(' SIZE=14')
  })

  it('include SMTPUTF8 when an address needs it, whatever the caller said', () => {
    expect(commands({ to: 'jörg@example.com' })[0]).toMatch(/ SMTPUTF8$/)
    expect(commands({ to: 'jörg@example.com' }, offering('8BITMIME'))).toEqual(['ESMTPUTF8'])
  })

  it('promise no eight bits to a server without 8BITMIME', () => {
    expect(commands({ message: eightBit }, offering('SIZE'))).toEqual(['E8BITMIME'])
    expect(commands({ message: eightBit }, offering('8BITMIME'))[0]).toContain('BODY=8BITMIME')
    expect(commands({ message: sevenBit }, offering('8BITMIME'))[0]).not.toContain('BODY')
  })

  it('request delivery status notifications where they are offered', () => {
    const dsn = {
      notify: ['success', 'failure'],
      return: 'headers',
      envelopeId: 'a+b=c d\r\nX',
    } as const
    expect(commands({ dsn })).toEqual([
      'MAIL FROM:<shop@example.com> SIZE=14 RET=HDRS ENVID=a+2Bb+3Dc?d??X',
      'RCPT TO:<ann@receiver.test> NOTIFY=SUCCESS,FAILURE',
    ])
    expect(commands({ dsn: { notify: 'never', return: 'full' } })).toEqual([
      'MAIL FROM:<shop@example.com> SIZE=14 RET=FULL',
      'RCPT TO:<ann@receiver.test> NOTIFY=NEVER',
    ])
    expect(commands({ dsn: { notify: [], envelopeId: '' } })[1]).toBe('RCPT TO:<ann@receiver.test>')
    expect(commands({ dsn }, offering('SIZE')).join(' ')).not.toMatch(/RET|ENVID|NOTIFY/)
  })

  it('cannot contain a second command', () => {
    for (const address of ['a@b>\r\nRCPT TO:<c@d', 'a b@c', '<a@b', 'a@b\u007f', 'x'.repeat(600)]) {
      expect(commands({ to: address })).toEqual(['EADDRESS'])
      expect(commands({ from: address })).toEqual(['EADDRESS'])
    }
  })
})

describe('the offer of EHLO', () => {
  it('is read in any case, in the old form, and once', () => {
    expect(
      offering('auth=login plain', 'AUTH PLAIN XOAUTH2', 'StartTls', 'Size 5 6'),
    ).toMatchObject({
      authMechanisms: ['LOGIN', 'PLAIN', 'XOAUTH2'],
      hasStartTls: true,
      messageBytesMax: 5,
      hasPipelining: false,
      hasEnhancedStatusCodes: false,
    })
  })

  it('does not begin with the greeting line', () => {
    expect(readCapabilities(['250 PIPELINING'])).toEqual(NO_CAPABILITIES)
  })

  it.each(['SIZE x', 'SIZE -1', 'SIZE 1e3', 'SIZE 99999999999999999'])(
    'names no limit with %j',
    (line) => expect(offering(line).messageBytesMax).toBeUndefined(),
  )
})
