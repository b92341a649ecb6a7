import { expect, it } from 'vitest'
import { findMailer } from './real-mailer.ts'

const news = { mailer_id: 'smtp_01ARZ3NDEKTSV4RRFFQ69G5FAV' }
const domain = { mailer_id: 'domain_01ARZ3NDEKTSV4RRFFQ69G5FAW' }

it('finds the mailer that test mail would go by, of whatever kind', () => {
  expect(findMailer([news, domain], 'test_01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe(news)
  expect(findMailer([news, domain], 'test_01ARZ3NDEKTSV4RRFFQ69G5FAW')).toBe(domain)
})

it('finds the mailer of other mail by its whole id', () => {
  expect(findMailer([news, domain], domain.mailer_id)).toBe(domain)
  expect(findMailer([news], 'imap_01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBeUndefined()
  expect(findMailer([news], 'test_01ARZ3NDEKTSV4RRFFQ69G5FAX')).toBeUndefined()
  expect(findMailer(undefined, news.mailer_id)).toBeUndefined()
})
