package machines

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Messages of WS-Management, as the shells of WinRM use them (MS-WSMV).
const (
	wsmanShell  = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell"
	transfer    = "http://schemas.xmlsoap.org/ws/2004/09/transfer/"
	createShell = transfer + "Create"
	deleteShell = transfer + "Delete"
	runCommand  = wsmanShell + "/Command"
	sendInput   = wsmanShell + "/Send"
	receive     = wsmanShell + "/Receive"
	sendSignal  = wsmanShell + "/Signal"
	interrupt   = wsmanShell + "/signal/ctrl_c"
	terminate   = wsmanShell + "/signal/terminate"

	maxEnvelope = 153600
	// maxInput limits the input in a request, in bytes, so that in base64 it stays below maxEnvelope.
	maxInput = 96 << 10
)

// shellOptions make the shell use UTF-8.
var shellOptions = map[string]string{"WINRS_NOPROFILE": "FALSE", "WINRS_CODEPAGE": "65001"}

const shellBody = "<rsp:Shell><rsp:InputStreams>stdin</rsp:InputStreams>" +
	"<rsp:OutputStreams>stdout stderr</rsp:OutputStreams></rsp:Shell>"

// message is a request. Its body is XML.
type message struct {
	action, shell, body string
	options             map[string]string
}

func (m message) text(to string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` +
		`<env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope"` +
		` xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing"` +
		` xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd"` +
		` xmlns:rsp="` + wsmanShell + `"><env:Header>`)
	fmt.Fprintf(&b, `<a:To>%s</a:To><a:ReplyTo><a:Address env:mustUnderstand="true">`+
		`http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous</a:Address></a:ReplyTo>`, escaped(to))
	fmt.Fprintf(&b, `<w:MaxEnvelopeSize env:mustUnderstand="true">%d</w:MaxEnvelopeSize>`, maxEnvelope)
	fmt.Fprintf(&b, `<a:MessageID>uuid:%s</a:MessageID>`, uuid.New())
	b.WriteString(`<w:Locale env:mustUnderstand="false" xml:lang="en-US"/>`)
	fmt.Fprintf(&b, `<w:OperationTimeout>PT%dS</w:OperationTimeout>`, int(patience.Seconds()))
	b.WriteString(`<w:ResourceURI env:mustUnderstand="true">` + wsmanShell + `/cmd</w:ResourceURI>`)
	b.WriteString(`<a:Action env:mustUnderstand="true">` + m.action + `</a:Action>`)
	if m.shell != "" {
		fmt.Fprintf(&b, `<w:SelectorSet><w:Selector Name="ShellId">%s</w:Selector></w:SelectorSet>`, escaped(m.shell))
	}
	if len(m.options) > 0 {
		b.WriteString(`<w:OptionSet>`)
		for _, name := range slices.Sorted(maps.Keys(m.options)) {
			fmt.Fprintf(&b, `<w:Option Name="%s">%s</w:Option>`, name, m.options[name])
		}
		b.WriteString(`</w:OptionSet>`)
	}
	b.WriteString(`</env:Header><env:Body>` + m.body + `</env:Body></env:Envelope>`)
	return b.String()
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder returns no errors
	return b.String()
}

func commandBody(line string) string {
	return "<rsp:CommandLine><rsp:Command>" + escaped(line) + "</rsp:Command></rsp:CommandLine>"
}

func signalBody(command, code string) string {
	return fmt.Sprintf(`<rsp:Signal CommandId="%s"><rsp:Code>%s</rsp:Code></rsp:Signal>`, escaped(command), code)
}

func inputBody(command string, data []byte, end bool) string {
	return fmt.Sprintf(`<rsp:Send><rsp:Stream Name="stdin" CommandId="%s" End="%t">%s</rsp:Stream></rsp:Send>`,
		escaped(command), end, base64.StdEncoding.EncodeToString(data))
}

func receiveBody(command string) string {
	return fmt.Sprintf(`<rsp:Receive><rsp:DesiredStream CommandId="%s">stdout stderr</rsp:DesiredStream></rsp:Receive>`,
		escaped(command))
}

// envelope is a response.
type envelope struct {
	Body struct {
		Fault   *fault `xml:"Fault"`
		Created struct {
			Selectors []selector `xml:"ReferenceParameters>SelectorSet>Selector"`
		} `xml:"ResourceCreated"`
		Shell struct {
			ID string `xml:"ShellId"`
		} `xml:"Shell"`
		Command struct {
			ID string `xml:"CommandId"`
		} `xml:"CommandResponse"`
		Output struct {
			Streams []stream `xml:"Stream"`
			State   struct {
				State    string `xml:"State,attr"`
				ExitCode int    `xml:"ExitCode"`
			} `xml:"CommandState"`
		} `xml:"ReceiveResponse"`
	} `xml:"Body"`
}

type selector struct {
	Name  string `xml:"Name,attr"`
	Value string `xml:",chardata"`
}

type stream struct {
	Name string `xml:"Name,attr"`
	Text string `xml:",chardata"`
}

// bytes returns the decoded content of a stream. It omits invalid base64.
func (s stream) bytes() []byte {
	data, _ := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s.Text), ""))
	return data
}

type fault struct {
	Subcode string `xml:"Code>Subcode>Value"`
	Reason  string `xml:"Reason>Text"`
	Detail  struct {
		Code    string `xml:"Code,attr"`
		Message string `xml:"Message"`
	} `xml:"Detail>WSManFault"`
}

// parse decodes a response.
func parse(text []byte) (*envelope, error) {
	e := &envelope{}
	if err := xml.Unmarshal(text, e); err != nil {
		return nil, err
	}
	return e, nil
}

// shell returns the ID of a shell that was opened.
func (e *envelope) shell() string {
	for _, s := range e.Body.Created.Selectors {
		if s.Name == "ShellId" {
			return strings.TrimSpace(s.Value)
		}
	}
	return strings.TrimSpace(e.Body.Shell.ID)
}

// faultError is a response with an error.
type faultError struct{ *fault }

// maxReason limits the part of a fault that is shown, in bytes.
const maxReason = 1000

// Error implements error.
func (f *faultError) Error() string {
	text := strings.Join(strings.Fields(f.Reason+" "+f.Detail.Message), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	return fmt.Sprintf("the machine answered with the fault %s %s: %s", f.Subcode, f.Detail.Code, text)
}

// timedOut reports whether the fault only means that there was no output for a while.
func (f *faultError) timedOut() bool {
	return strings.HasSuffix(f.Subcode, ":TimedOut") || f.Detail.Code == "2150858793"
}
