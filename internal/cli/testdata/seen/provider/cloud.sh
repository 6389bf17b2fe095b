# A cloud whose servers exist as long as nobody puts a file gone-NAME beside the project.
in=$(cat)
name=$(printf %s "$in" | tr '\n' ' ' | sed -n 's/.*"name":"\([^"]*\)".*/\1/p')
case $1 in
create | update)
	case $name in
	fail*)
		echo '{"diagnostics": [{"severity": "error", "summary": "Quota exceeded", "detail": "The account may have 8 servers in this zone, and has 8.", "attribute": ["name"]}]}'
		exit 1
		;;
	slow*)
		echo 'half way' >&2
		n=0
		while [ ! -e go ] && [ "$n" -lt 600 ]; do
			sleep 0.05
			n=$((n + 1))
		done
		;;
	esac
	if [ "$1" = create ]; then
		echo "{\"state\": {\"id\": \"srv-$name\", \"address\": \"$name.example.net\"}}"
	else
		echo '{"state": {}}'
	fi
	;;
read)
	if [ -e "gone-$name" ]; then
		echo '{"state": null}'
	elif [ -e "drift-$name" ]; then
		echo '{"state": {"size": "huge", "tags": {"owner": "somebody else"}}}'
	elif [ -z "$name" ]; then
		echo '{"state": {"name": "old", "address": "old.example.net", "size": "small", "image": "debian-12"}}'
	else
		echo '{"state": {}}'
	fi
	;;
data) echo '{"state": {"id": "image-7"}}' ;;
*) echo '{}' ;;
esac
