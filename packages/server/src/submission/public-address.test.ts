import { expect, it } from 'vitest'
import { publicAddressOf } from './public-address.ts'

const host = 'mail.example.com'
const starttls = { port: 587, isTls: false }
const tls = { port: 465, isTls: true }
const on = (port: number) => ({ host: '127.0.0.1', port })
const off = {
  ...{ host, ports: [], listened: [] },
  published: { starttls: undefined, tls: undefined },
}

it('tells each port by what it begins with', () => {
  const ports = [starttls, tls]
  expect(publicAddressOf({ ...off, ports, listened: [on(587), on(465)] })).toEqual({
    ...{ host, starttls_port: 587, tls_port: 465 },
  })
  expect(publicAddressOf({ ...off, ports: [tls] })).toEqual({
    ...{ host, starttls_port: null, tls_port: 465 },
  })
})

it('tells the settings where another process listens', () => {
  expect(publicAddressOf({ ...off, ports: [starttls] })?.starttls_port).toBe(587)
})

it('tells what is published in place of what is listened on, also where nothing is', () => {
  const published = { starttls: 587, tls: undefined }
  const ports = [
    { ...starttls, port: 5587 },
    { ...tls, port: 4465 },
  ]
  expect(publicAddressOf({ ...off, ports, published })).toEqual({
    ...{ host, starttls_port: 587, tls_port: 4465 },
  })
  expect(publicAddressOf({ ...off, published })?.starttls_port).toBe(587)
})

it('tells a free port once it is known, and nothing before', () => {
  const ports = [{ ...starttls, port: 0 }]
  expect(publicAddressOf({ ...off, ports, listened: [on(40_123)] })?.starttls_port).toBe(40_123)
  expect(publicAddressOf({ ...off, ports })).toBeNull()
})

it('tells nothing when it is off', () => {
  expect(publicAddressOf(off)).toBeNull()
})
