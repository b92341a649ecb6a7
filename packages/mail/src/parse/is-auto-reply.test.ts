import { expect, it } from 'vitest'
import { isAutoReply } from './is-auto-reply.ts'

type Headers = Readonly<Record<string, string>>
const decide = (headers: Headers, subject = 'Hello', isReport = false) =>
  isAutoReply(
    Object.entries(headers).map(([name, value]) => ({ name, value })),
    { subject, isReport },
  )

it.each<[Headers, string?]>([
  [{ 'Auto-Submitted': 'auto-replied' }],
  [{ 'auto-submitted': 'Auto-Replied (vacation)' }],
  [{ 'Auto-Submitted': 'auto-generated; owner-email="a@b.test"' }],
  [{ 'X-Autoreply': 'yes' }],
  [{ 'X-Autorespond': '', Precedence: 'auto_reply' }],
  [{ Precedence: 'bulk', 'Return-Path': '<>' }],
  [{ Precedence: 'bulk' }, 'Out of Office: Hello'],
  [{ 'X-Auto-Response-Suppress': 'All' }, 'Automatic reply: Hello'],
  [{ 'X-Auto-Response-Suppress': 'All' }, 'Automatische Antwort: Hello'],
  [{ 'Return-Path': '<>' }],
])('%j %s is an automatic reply', (headers, subject) => {
  expect(decide(headers, subject)).toBe(true)
})

it.each<[Headers, string?]>([
  [{}],
  [{}, 'Automatic reply: how to?'],
  [{ 'Auto-Submitted': 'no' }, 'Out of office'],
  [{ 'X-Auto-Response-Suppress': 'OOF, AutoReply' }],
  [{ Precedence: 'bulk' }],
  [{ Precedence: 'list' }],
  [{ Precedence: 'bulk', 'List-Id': '<l.example.com>', 'Return-Path': '<>' }, 'Auto: 1'],
  [{ 'X-Autoreply': 'no' }],
  [{ 'Return-Path': '<ann@example.com>' }],
])('%j %s is no automatic reply', (headers, subject) => {
  expect(decide(headers, subject)).toBe(false)
})

it('a report is no automatic reply', () => {
  expect(decide({ 'Auto-Submitted': 'auto-replied', 'Return-Path': '<>' }, '', true)).toBe(false)
})
