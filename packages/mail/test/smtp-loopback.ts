/** Ways to a scripted server on loopback, and a key pair that is worth nothing anywhere else. */
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import {
  type OpenSessionOptions,
  openSmtpSession,
  type SecureSocket,
  type SendOptions,
  type SmtpConnectOptions,
  type SmtpSession,
} from '../src/index.ts'

export const TEST_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCgBmv5/xoFjpmiqb
rwkn8+6TETd5c4xIEyv7XH0f0vGhRANCAARFIMHWUOCrCw9G0rF7LoTeb5H50p2+
38dWck+ZdlSnGIVnT9GSqFUbK9xfPsgDzH0iSo7isR6f3BUm7cdoej5Z
-----END PRIVATE KEY-----
`

/** For localhost and 127.0.0.1, signed by itself, valid until 2120. */
export const TEST_CERT = `-----BEGIN CERTIFICATE-----
MIIBZzCCAQ2gAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEUgwdZQ4KsLD0bS
sXsuhN5vkfnSnb7fx1ZyT5l2VKcYhWdP0ZKoVRsr3F8+yAPMfSJKjuKxHp/cFSbt
x2h6PlmjTjBMMA8GA1UdEwEB/wQFMAMBAf8wGgYDVR0RBBMwEYIJbG9jYWxob3N0
hwR/AAABMB0GA1UdDgQWBBTVpyeHePcrs1FrOr5hBuXPwUJovDAKBggqhkjOPQQD
AgNIADBFAiEAx25qC0k9+3GdeWKkN5qV3mZakGHPRPYTG8HjgZBUJqwCIH2vYVOb
a2kBD+/fFUTV72KIICKXhlofivn3ii9d4cgf
-----END CERTIFICATE-----
`

/** The same, expired in 2020. */
export const EXPIRED_CERT = `-----BEGIN CERTIFICATE-----
MIIBZTCCAQugAwIBAgIBAjAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwHhcNMjAwMTAxMDAwMDAwWhcNMjAwMTAyMDAwMDAwWjAUMRIwEAYDVQQDDAls
b2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARFIMHWUOCrCw9G0rF7
LoTeb5H50p2+38dWck+ZdlSnGIVnT9GSqFUbK9xfPsgDzH0iSo7isR6f3BUm7cdo
ej5Zo04wTDAPBgNVHRMBAf8EBTADAQH/MBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcE
fwAAATAdBgNVHQ4EFgQU1acnh3j3K7NRazq+YQblz8FCaLwwCgYIKoZIzj0EAwID
SAAwRQIgZ5sr/wDgzTYtZpOh5sFZqdD0l53zVrxJcbvPSIGofO0CIQCliTg4xHhT
46Nxhf8WnjPfpTCVD1W5eNpdn5WjNzsL2A==
-----END CERTIFICATE-----
`

export const MESSAGE = Buffer.from('Subject: hi\r\n\r\nfirst line\r\n.second line\r\n')

const neverMind = () => undefined

/** As the guarded egress connects: a plain socket, or one with TLS done. */
export function connectTo(port: number, ca?: string) {
  return (o: SmtpConnectOptions) =>
    new Promise<Socket>((resolve, reject) => {
      const socket: Socket =
        o.tls === undefined
          ? connect(port, '127.0.0.1', () => resolve(socket))
          : connectTls({ port, host: '127.0.0.1', ca, ...o.tls }, () => resolve(socket))
      socket.once('error', reject)
      socket.on('error', neverMind)
    })
}

/** STARTTLS as the guarded egress does it. */
const secureSocket: SecureSocket = (socket, host, { rejectUnauthorized }, signal) =>
  new Promise((resolve, reject) => {
    const name = isIP(host) === 0 ? { servername: host } : {}
    const secured = connectTls({ socket, host, ...name, rejectUnauthorized })
    signal.addEventListener('abort', () => secured.destroy(), { once: true })
    secured.once('secureConnect', () => resolve(secured))
    secured.once('error', reject)
    secured.once('close', () => reject(new Error('closed before TLS was up')))
    secured.on('error', neverMind)
  })

export function sessionOptions(
  port: number,
  more: Partial<OpenSessionOptions> = {},
): OpenSessionOptions {
  return {
    connect: connectTo(port),
    secureSocket,
    host: '127.0.0.1',
    port,
    secure: 'Auto',
    tlsVerify: true,
    ehloName: 'mx.example.com',
    timeoutMs: 10_000,
    ...more,
  }
}

export async function openTo(
  port: number,
  more: Partial<OpenSessionOptions> = {},
): Promise<SmtpSession> {
  const opened = await openSmtpSession(sessionOptions(port, more))
  if (!opened.ok) throw new Error(`no session: ${JSON.stringify(opened.failure)}`)
  return opened.session
}

export function mail(more: Partial<SendOptions> = {}): SendOptions {
  return {
    from: 'shop@example.com',
    to: 'ann@receiver.test',
    message: MESSAGE,
    smtpUtf8: false,
    deadlineAt: performance.now() + 10_000,
    beforeFinalDot: () => Promise.resolve(),
    ...more,
  }
}
