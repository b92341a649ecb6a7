#!/bin/sh
# Makes the fixed certificates that tests use. They are committed, long-lived and worthless: the
# keys are public, so nothing outside a test may ever trust ca.pem. Run it only to replace them all.
#
#   ca.pem                      the test authority (its key is thrown away)
#   localhost.pem/.key          localhost, *.example.test, 127.0.0.1, ::1; valid 2020 to 2056
#   expired.pem/.key            the same names; ended in 2021
#   self-signed.pem/.key        the same names; by no authority
#
# ECDSA P-256; needs openssl 1.1.1 or later.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$(pwd)

cat > "$work/ca.cnf" <<CNF
[ca]
default_ca = test
[test]
database = $work/index.txt
new_certs_dir = $work
serial = $work/serial
default_md = sha256
policy = policy
unique_subject = no
[policy]
commonName = supplied
organizationName = optional
[req]
prompt = no
distinguished_name = name
[name]
O = Postrider tests
CN = localhost
[authority]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = DNS:localhost, DNS:*.example.test, IP:127.0.0.1, IP:::1
CNF
: > "$work/index.txt"
echo 1000 > "$work/serial"

new_key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }

new_key "$work/ca.key"
openssl req -new -key "$work/ca.key" -subj '/O=Postrider tests/CN=Postrider test authority' -out "$work/ca.csr" -config "$work/ca.cnf"
openssl ca -batch -notext -config "$work/ca.cnf" -selfsign -keyfile "$work/ca.key" -in "$work/ca.csr" \
  -extensions authority -startdate 20200101000000Z -enddate 20560101000000Z -out "$out/ca.pem"

issue() { # name, start, end
  new_key "$out/$1.key"
  openssl req -new -key "$out/$1.key" -config "$work/ca.cnf" -out "$work/$1.csr"
  openssl ca -batch -notext -config "$work/ca.cnf" -cert "$out/ca.pem" -keyfile "$work/ca.key" \
    -in "$work/$1.csr" -extensions server -startdate "$2" -enddate "$3" -out "$out/$1.pem"
}
issue localhost 20200101000000Z 20560101000000Z
issue expired 20200101000000Z 20210101000000Z
new_key "$out/self-signed.key"
openssl req -new -key "$out/self-signed.key" -config "$work/ca.cnf" -out "$work/self-signed.csr"
openssl ca -batch -notext -config "$work/ca.cnf" -selfsign -keyfile "$out/self-signed.key" \
  -in "$work/self-signed.csr" -extensions server -startdate 20200101000000Z -enddate 20560101000000Z \
  -out "$out/self-signed.pem"
